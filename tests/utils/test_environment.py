"""Test what is recorded of the code, the packages and the command, and the files below a folder."""

import subprocess

import pytest

from benchmarks.harness import SPEED, provenance
from lit_video import __version__
from lit_video.training.command_line import recorded_command
from lit_video.utils import environment
from lit_video.utils.files import files_below


def test_a_copy_without_git_says_the_commit_that_it_is_told(monkeypatch):
    def fail(*command, **options):
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setenv("LIT_VIDEO_COMMIT", "abc123")
    assert environment.commit() != "abc123"
    monkeypatch.setattr(subprocess, "run", fail)
    assert environment.commit() == "abc123"
    monkeypatch.delenv("LIT_VIDEO_COMMIT")
    assert environment.commit() == "unknown"


def test_packed_runs_are_no_change_of_the_code(tmp_path, monkeypatch):
    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    code = tmp_path / "package/utils/environment.py"
    pack = tmp_path / environment.PACKS / "skills.tar.xz"
    for path in (code, pack):
        path.parent.mkdir(parents=True)
        path.write_text("before")
    git("init")
    git("add", ".")
    git("commit", "-m", "all")
    monkeypatch.setattr(environment, "__file__", str(code))
    first = environment.commit()
    assert "+" not in first
    pack.write_text("one more run")
    assert environment.commit() == first
    code.write_text("other code")
    assert environment.commit() == f"{first}+changes"


def test_variables_that_make_it_slower_or_faster_stand_before_the_command(monkeypatch):
    for name in SPEED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    facts = provenance("python -m benchmarks.model", "cpu", "other")
    assert facts["command"] == "OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=AVX2 python -m benchmarks.model"
    assert facts["commit"] == environment.commit() and facts["versions"]["lit_video"] == __version__


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("fit --config experiments/a.yaml --seeds 0,1", "fit --config experiments/a.yaml --seeds 0,1"),
        ("fit --runs /home/me/runs --data.root=/data/ssv2", "fit --runs DIR --data.root=DIR"),
        ("fit --data.root ../shared/data/letters --config ../a.yaml", "fit --data.root DIR --config a.yaml"),
        ("test --model.weights=/w/x.pyth --runs runs", "test --model.weights=x.pyth --runs runs"),
    ],
)
def test_folders_of_the_machine_are_left_out(given, kept):
    assert recorded_command(given.split()) == f"lit_video {kept}"


def test_linked_folders_are_followed_each_once(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/b.mp4").touch()
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos/a.mp4").touch()
    (tmp_path / "videos/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/back").symlink_to(tmp_path / "videos")
    found = [path.relative_to(tmp_path).as_posix() for path in files_below(tmp_path / "videos")]
    assert found == ["videos/a.mp4", "videos/linked/b.mp4"]
