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
from lit_video.commands.doctor import Finding
from tests.conftest import ROOT

Disk, Library = namedtuple("Disk", "free"), namedtuple("Library", "name version requires")


def raising(error):
    def function(*args, **keywords):
        raise error

    return function


def program(folder, name, text):
    """A command for PATH."""
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def only(found):
    (one,) = found
    assert one.advice or one.level == "ok"
    return one


def test_the_status_is_that_of_the_worst_line_and_lines_are_aligned(monkeypatch, capsys):
    findings = [Finding("ok", "a", "fine"), Finding("warning", "a long name", "small", "take more")]
    monkeypatch.setattr(doctor, "findings", lambda runs: findings)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0].index("fine"), lines[1].index("small"), lines[2].index("-> take more")] == [22, 22, 22]
    findings.append(Finding("problem", "b", "broken", "repair it"))
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


def test_libraries_that_are_missing_or_too_old_are_problems(monkeypatch):
    needs = ["torch>=99", "no-such-lib[x]>=1", "numpy>=1", "x>=1; extra == 'dev'"]
    found = [Library("lit_video", "0", needs), Library("torch", "2", None), Library("numpy", "2.1", None)]
    monkeypatch.setattr(doctor, "distributions", lambda: found)
    old, none = [each for each in doctor.check_software() if each.level != "ok"]
    assert (old.text, old.advice) == ("2 installed, needed >=99", "pip install 'torch>=99'")
    assert (none.name, none.text) == ("no-such-lib", "not installed, needed >=1")


def test_a_driver_without_a_gpu_is_a_problem_and_none_is_not(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert doctor.check_gpus() == "none; runs train on the CPU"
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    with pytest.raises(RuntimeError, match="finds no GPU"):
        doctor.check_gpus()


def test_a_gpu_has_to_multiply(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda i: "FAKE")
    ones = torch.ones
    monkeypatch.setattr(torch, "ones", lambda *shape, device: ones(*shape))
    assert doctor.check_gpus() == "FAKE: multiply"
    monkeypatch.setattr(torch, "ones", lambda *shape, device: 2 * ones(*shape))
    with pytest.raises(RuntimeError, match="FAKE multiplies wrongly"):
        doctor.check_gpus()


def test_a_check_that_dies_or_hangs_in_its_process_is_a_problem(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor.sys, "executable", str(tmp_path / "python"))
    program(tmp_path, "python", "kill -SEGV $$")
    found = doctor.in_own_process("gpu", "check_gpus", "install")
    assert (found.level, found.text) == ("problem", "ended with -11 and no message")
    program(tmp_path, "python", "echo 'ImportError: libx.so: not found' >&2; exit 1")
    assert "libx.so" in doctor.in_own_process("gpu", "check_gpus", "install").text
    program(tmp_path, "python", "exec sleep 60")
    monkeypatch.setattr(doctor, "OWN_PROCESS", 0.2)
    assert doctor.in_own_process("gpu", "check_gpus", "install").text == "no answer within 0.2 s"


def test_a_decoder_that_gives_other_pixels(monkeypatch):
    monkeypatch.setattr("lit_video.video.decoding.decode", lambda path, numbers: torch.ones(2, 4, 4, 3))
    with pytest.raises(RuntimeError, match="other pixels than were written"):
        doctor.check_decoding()


def test_slurm(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert only(doctor.check_slurm()).text == "not on this machine"
    program(tmp_path, "sbatch", "")
    assert "sinfo" in only(doctor.check_slurm()).text
    program(tmp_path, "sinfo", "echo '4 idle'; echo '2 mix'")
    assert only(doctor.check_slurm()).text == "nodes: 4 idle 2 mix"
    program(tmp_path, "sinfo", "exit 1")
    assert only(doctor.check_slurm()).level == "warning"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    assert [*doctor.check_slurm()][1].text == "in job 7 of 4 tasks, and not under srun"


@pytest.mark.parametrize(("gigabytes", "level"), [(5, "warning"), (500, "ok")])
def test_space(monkeypatch, tmp_path, gigabytes, level):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(gigabytes * doctor.GB))
    assert doctor.check_folder("runs", tmp_path / "not/there/yet", 20, "give another").level == level
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert doctor.check_folder("runs", tmp_path, 20, "").text == f"{tmp_path} cannot be written"


def test_a_folder_that_refuses_locks_or_renames(monkeypatch, tmp_path):
    monkeypatch.setattr("filelock.FileLock", lambda path, timeout: nullcontext())
    assert "does not keep others out" in doctor.check_locks(tmp_path).text
    monkeypatch.setattr("filelock.FileLock", raising(NotImplementedError("no flock")))
    assert "no flock" in doctor.check_locks(tmp_path).text
    monkeypatch.setattr(os, "fsync", raising(OSError(errno.EIO, "Input/output error")))
    assert "Input/output error" in doctor.check_locks(tmp_path).text
