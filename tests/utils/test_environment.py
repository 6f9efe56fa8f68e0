"""What a result says about the code and the packages that it was made with."""

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
