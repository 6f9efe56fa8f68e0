"""The doctor: what its line says of each problem, what to do, and the exit status."""

import errno
import os
import shutil
from collections import namedtuple
from contextlib import nullcontext

import pytest
import torch

from lit_video.__main__ import main
from lit_video.commands import doctor
from lit_video.commands.doctor import Finding

Disk = namedtuple("Disk", "free")


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


def test_libraries_that_are_missing_or_too_old_are_problems(monkeypatch):
    monkeypatch.setattr(
        doctor, "requires", lambda name: ["torch>=99", "no-such-lib[x]>=1", "numpy", "x>=1; extra == 'dev'"]
    )
    monkeypatch.setattr(doctor, "installed", {"lit_video": "0", "torch": "2", "numpy": "2"}.get)
    old, none = [each for each in doctor.check_software() if each.level != "ok"]
    assert (old.text, old.advice, none.text) == ("2, needed >=99", "pip install 'torch>=99'", "not installed")


@pytest.mark.parametrize(
    ("driver", "cuda", "level", "text"),
    [
        (None, None, "ok", "none; runs train on the CPU"),
        ("/usr/bin/nvidia-smi", None, "problem", "built for the CPU only"),
        ("/usr/bin/nvidia-smi", "13.0", "warning", "finds no GPU"),
    ],
)
def test_no_gpu_is_a_problem_where_there_should_be_one(monkeypatch, driver, cuda, level, text):
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: driver)
    found = only(doctor.check_gpus())
    assert found.level == level and text in found.text


def test_a_gpu_is_a_line_with_its_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda i: "FAKE")
    ones = torch.ones
    monkeypatch.setattr(torch, "ones", lambda *shape, device: ones(*shape))
    assert only(doctor.check_gpus()).text == "FAKE multiplies"
    monkeypatch.setattr(torch, "ones", lambda *shape, device: 2 * ones(*shape))
    assert "a product of matrices is wrong" in only(doctor.check_gpus()).text
    monkeypatch.setattr(torch, "ones", raising(RuntimeError("CUDA error: device busy")))
    assert "device busy" in only(doctor.check_gpus()).text


def test_a_check_that_dies_or_hangs_in_its_process_is_a_problem(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor.sys, "executable", str(tmp_path / "python"))
    program(tmp_path, "python", "kill -SEGV $$")
    found = only(doctor.in_own_process("gpu", "check_gpus", "install"))
    assert (found.level, found.text) == ("problem", "ended with -11 and no message")
    program(tmp_path, "python", "echo 'ImportError: libx.so: not found' >&2; exit 1")
    assert "libx.so" in only(doctor.in_own_process("gpu", "check_gpus", "install")).text
    program(tmp_path, "python", "exec sleep 60")
    monkeypatch.setattr(doctor, "OWN_PROCESS", 0.2)
    assert only(doctor.in_own_process("gpu", "check_gpus", "install")).text == "no answer within 0.2 s"


def test_a_decoder_that_gives_other_pixels(monkeypatch):
    monkeypatch.setattr("lit_video.video.decoding.decode", lambda path, numbers: torch.ones(2, 4, 4, 3))
    (pyav,) = doctor.check_decoding()
    assert (pyav.level, pyav.text) == ("problem", "decodes other pixels than were written")


@pytest.mark.parametrize(
    ("environment", "level", "text"),
    [
        ({}, "ok", "no API key"),
        ({"WANDB_MODE": "offline"}, "ok", "WANDB_MODE is offline"),
        ({"WANDB_MODE": "disabled"}, "warning", "nothing is recorded"),
        ({"WANDB_API_KEY": "x" * 40}, "warning", "cannot be reached"),
    ],
)
def test_wandb(monkeypatch, tmp_path, environment, level, text):
    for name, value in ({"HOME": str(tmp_path)} | environment).items():
        monkeypatch.setenv(name, value)
    found = doctor.check_wandb()
    assert found.level == level and text in found.text


def test_slurm(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert only(doctor.check_slurm()).text == "not on this machine"
    program(tmp_path, "sbatch", "")
    assert only(doctor.check_slurm()).text == "no sinfo, srun, scontrol in PATH"
    for name in doctor.SLURM:
        program(tmp_path, name, "echo '4 idle'; echo '2 mix'")
    assert only(doctor.check_slurm()).text == "nodes: 4 idle, 2 mix"
    program(tmp_path, "sinfo", "echo 'Unable to contact' >&2; exit 1")
    assert "Unable to contact" in only(doctor.check_slurm()).text
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    assert [*doctor.check_slurm()][1].text == "in job 7 of 4 tasks, and not under srun"
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    monkeypatch.setenv("SLURM_PROCID", "0")
    assert only(doctor.check_slurm()).name == "slurm"


@pytest.mark.parametrize(("gigabytes", "level"), [(0.5, "problem"), (5, "warning"), (500, "ok")])
def test_space(monkeypatch, tmp_path, gigabytes, level):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(gigabytes * doctor.GB))
    assert doctor.check_folder("runs", tmp_path / "not/there/yet", 20, 1, "give another").level == level
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert doctor.check_folder("runs", tmp_path, 20, 1, "").text == f"{tmp_path} cannot be written"


def test_a_folder_that_refuses_locks_or_renames(monkeypatch, tmp_path):
    monkeypatch.setattr("filelock.FileLock", lambda path, timeout: nullcontext())
    assert "does not keep others out" in doctor.check_locks(tmp_path).text
    monkeypatch.setattr("filelock.FileLock", raising(NotImplementedError("no flock")))
    assert "no flock" in doctor.check_locks(tmp_path).text
    monkeypatch.setattr(os, "fsync", raising(OSError(errno.EIO, "Input/output error")))
    assert "Input/output error" in doctor.check_locks(tmp_path).text
