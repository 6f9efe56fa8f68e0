"""The doctor: what its line says of each problem, what to do, and the exit status."""

import os
import shutil
import subprocess
import sys
from collections import namedtuple

import pytest
import torch

from lit_video.__main__ import main
from lit_video.commands import doctor
from tests.conftest import ROOT

Disk = namedtuple("Disk", "free")


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
    assert main(["doctor", "--runs", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    for words in ("no-such-lib", "this PyTorch finds no GPU", "no flock"):
        (number,) = [i for i, line in enumerate(lines) if words in line]
        assert lines[number + 1].strip().startswith("-> ")


def test_space(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(5 * 2**30))
    assert doctor.space(tmp_path / "not/there/yet", 1).endswith("yet: 5.00 GB free")
    with pytest.raises(OSError, match="too few"):
        doctor.space(tmp_path, 20)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(OSError, match="cannot be written"):
        doctor.space(tmp_path, 1)
