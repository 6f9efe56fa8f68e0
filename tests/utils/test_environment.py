"""What a result says about the code and the packages that it was made with."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError

from lit_video import __version__
from lit_video.utils import environment


def test_packages_that_are_not_installed_have_no_version(monkeypatch):
    def version(name):
        if name in {"lit_video", "pytorchvideo"}:
            raise PackageNotFoundError(name)
        return "1.2"

    monkeypatch.setattr(environment, "version", version)
    found = environment.versions("other")
    assert found["lit_video"] == __version__
    assert found["torch"] == found["other"] == "1.2"
    assert "pytorchvideo" not in found


def test_a_copy_without_git_says_the_commit_that_it_is_told(monkeypatch):
    def fail(*command, **options):
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setenv("LIT_VIDEO_COMMIT", "abc123")
    assert environment.commit() != "abc123"
    monkeypatch.setattr(subprocess, "run", fail)
    assert environment.commit() == "abc123"
    monkeypatch.delenv("LIT_VIDEO_COMMIT")
    assert environment.commit() == "unknown"


def test_a_result_names_the_device_that_computed_it(monkeypatch):
    monkeypatch.setattr("torch.cuda.get_device_name", lambda device: f"GPU {device}")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert environment.provenance("command", "cuda")["device"] == "GPU cuda"
    assert "threads" in environment.provenance("command", "cpu")["device"] or platform.system() != "Linux"


def test_variables_that_make_it_slower_or_faster_stand_before_the_command(monkeypatch):
    for name in environment.SPEED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    facts = environment.provenance("python -m lit_video benchmark model", "cpu", "other")
    assert facts["command"] == "OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=AVX2 python -m lit_video benchmark model"
    assert facts["commit"] == environment.commit() and facts["versions"]["lit_video"] == __version__
