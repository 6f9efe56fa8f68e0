"""Test the doctor: a line for each problem, with advice, and the exit status."""

import shutil
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch

from lit_video.__main__ import main
from lit_video.api import doctor
from tests.conftest import ROOT


def test_the_doctor_looks_at_this_machine(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    status = main(["doctor", "--runs", str(tmp_path / "runs")])
    text = capsys.readouterr().out
    levels = {line[9:22].split()[0]: line[:8].strip() for line in text.splitlines()[:-1] if "->" not in line[:25]}
    assert levels.keys() == {"libraries", "gpu", "runs", "data", "/dev/shm", "locks"}
    assert levels["locks"] == "ok" and status == ("problem" in levels.values())
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize("command", ["doctor", "--help"])
def test_a_python_without_the_libraries_is_told_which_one_to_take(command):
    given = [sys.executable, "-S", "-m", "lit_video", command]  # without site-packages
    done = subprocess.run(given, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: no module ") and f" in {sys.executable}; " in line


def test_what_fails_is_said_with_what_to_do(tmp_path, monkeypatch, capsys):
    def refuse(*args, **options):
        raise NotImplementedError("no flock")

    monkeypatch.setattr(doctor, "requires", lambda name: ["numpy>=1", "no-such-lib[x]>=1", "x>=1; extra == 'dev'"])
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr("filelock.FileLock", refuse)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**20))
    assert main(["doctor", "--runs", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    told = (
        "give another --runs: ViT-B keeps 2 GB",
        "take fewer --data.num_workers",
        "give --runs on a file system with locks",
        "set LIT_VIDEO_DATA to another folder",
    )
    assert all(any(f"-> {advice}" in line for line in lines) for advice in told)
    for words in ("no-such-lib", "this PyTorch finds no GPU", "no flock", "0.00 GB free"):
        advice = [after.strip() for line, after in pairwise(lines) if words in line]
        assert advice and all(line.startswith("-> ") for line in advice)
    assert any("-> in the folder of lit_video's code: pip install -e ." in line for line in lines)
