"""The doctor: what its line says of each problem, what to do, and the exit status."""

import errno
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from contextlib import nullcontext

import pytest
import torch

from lit_video.__main__ import main
from lit_video.commands import doctor
from tests.conftest import ROOT

Disk = namedtuple("Disk", "free")


def raising(error):
    def function(*args, **keywords):
        raise error

    return function


def program(folder, name, text):
    """A command for PATH."""
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_the_status_is_that_of_the_worst_line_and_lines_are_aligned(monkeypatch, capsys):
    findings = [("ok", "a", "fine", ""), ("warning", "a long name", "small", "take more")]
    monkeypatch.setattr(doctor, "findings", lambda runs: findings)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0].index("fine"), lines[1].index("small"), lines[2].index("-> take more")] == [22, 22, 22]
    findings.append(("problem", "b", "broken", "repair it"))
    assert main(["doctor"]) == 1
    assert "problems: 1, warnings: 1" in capsys.readouterr().out


def test_the_doctor_looks_at_this_machine(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    status = main(["doctor", "--runs", str(tmp_path / "runs")])
    text = capsys.readouterr().out
    levels = {line[9:22].split()[0]: line[:8].strip() for line in text.splitlines()[:-1] if "->" not in line[:25]}
    names = {"python", "libraries", "pyav", "wandb", "slurm", "runs", "data", "/dev/shm", "locks"}
    assert levels.keys() >= names and levels["pyav"] == levels["locks"] == "ok"
    assert status == ("problem" in levels.values())
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize("command", ["doctor", "--help"])
def test_a_python_without_the_libraries_is_told_which_one_to_take(command):
    given = [sys.executable, "-S", "-m", "lit_video", command]  # without site-packages
    done = subprocess.run(given, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: no module ") and f" in {sys.executable}; " in line


def test_a_library_that_is_missing_is_a_problem(monkeypatch):
    monkeypatch.setattr(doctor, "requires", lambda name: ["numpy>=1", "no-such-lib[x]>=1", "x>=1; extra == 'dev'"])
    level, _, text, advice = doctor.tried("problem", "libraries", doctor.libraries, "install")
    assert (level, advice) == ("problem", "install") and "no-such-lib" in text


def test_a_driver_without_a_gpu_is_a_problem_and_none_is_not(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert doctor.gpus() == "none; runs train on the CPU"
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    with pytest.raises(RuntimeError, match="finds no GPU"):
        doctor.gpus()


def test_a_gpu_has_to_multiply(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda i: "FAKE")
    ones = torch.ones
    monkeypatch.setattr(torch, "ones", lambda *shape, device: ones(*shape))
    assert doctor.gpus() == "FAKE: multiply"
    monkeypatch.setattr(torch, "ones", lambda *shape, device: 2 * ones(*shape))
    with pytest.raises(RuntimeError, match="FAKE multiplies wrongly"):
        doctor.gpus()


def test_a_decoder_that_gives_other_pixels(monkeypatch):
    monkeypatch.setattr("lit_video.video.decoding.decode", lambda path, numbers: torch.ones(2, 4, 4, 3))
    with pytest.raises(RuntimeError, match="other pixels than were written"):
        doctor.decoding()


def test_slurm(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.slurm() == "not on this machine"
    program(tmp_path, "sbatch", "")
    program(tmp_path, "sinfo", "echo '4 idle'; echo '2 mix'")
    assert doctor.slurm() == "nodes: 4 idle 2 mix"
    program(tmp_path, "sinfo", "exit 1")
    assert "sinfo" in doctor.tried("warning", "slurm", doctor.slurm, "ask")[2]
    for name, value in {"JOB_ID": "7", "NTASKS": "4"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    with pytest.raises(RuntimeError, match="in job 7 of 4 tasks, and not under srun"):
        doctor.slurm_job()
    monkeypatch.setenv("SLURM_NTASKS", "1")
    assert doctor.slurm_job() == "in job 7"


def test_space(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(5 * doctor.GB))
    assert doctor.space(tmp_path / "not/there/yet", 1).endswith("yet: 5.00 GB free")
    with pytest.raises(OSError, match="too few"):
        doctor.space(tmp_path, 20)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(OSError, match="cannot be written"):
        doctor.space(tmp_path, 1)


@pytest.mark.parametrize(
    ("name", "replacement", "said"),
    [
        ("filelock.FileLock", lambda *a, **k: nullcontext(), "does not keep others out"),
        ("filelock.FileLock", raising(NotImplementedError("no flock")), "no flock"),
        ("os.fsync", raising(OSError(errno.EIO, "Input/output error")), "Input/output error"),
    ],
)
def test_a_folder_that_refuses_locks_or_renames(monkeypatch, tmp_path, name, replacement, said):
    monkeypatch.setattr(name, replacement)
    assert said in doctor.tried("problem", "locks", lambda: doctor.locks(tmp_path), "")[2]
