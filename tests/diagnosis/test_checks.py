"""Each kind of problem, made by fakes: what the line says, and what to do."""

import errno
import os
import resource
import socket
import stat
import subprocess
import sys
from collections import namedtuple
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from lit_video.diagnosis import data_sets, decoders, devices, limits, probe, services, software, storage

GB = 2**30
Disk = namedtuple("Disk", "f_bavail f_frsize f_files f_favail")


def only(findings, name):
    (found,) = [each for each in findings if each.name == name]
    assert found.advice or found.level == "ok"
    return found


def raising(error):
    def function(*args, **keywords):
        raise error

    return function


def program(folder, name, text):
    """A command for PATH."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


# software


def test_a_library_that_is_missing_or_too_old_is_a_problem(monkeypatch):
    needed = [Requirement("torch>=99"), Requirement("no-such-library>=1"), Requirement("numpy")]
    monkeypatch.setattr(software, "requirements", lambda: needed)
    found = [each for each in software.check_software() if each.level != "ok"]
    assert [each.name for each in found] == ["torch", "no-such-library"]
    assert "needed >=99" in found[0].text and found[0].advice == "pip install 'torch>=99'"
    assert found[1].text == "not installed"


def test_a_checkout_that_is_not_installed_is_looked_at_too(monkeypatch):
    monkeypatch.setattr(software, "requires", raising(PackageNotFoundError()))
    assert {one.name for one in software.requirements()} == set(software.SHOWN)
    assert not [each for each in software.check_software() if each.level != "ok"]


# devices and decoders


def gpu(**changes):
    return {"name": "FAKE", "free": 70.0, "total": 80.0, "error": ""} | changes


def with_gpus(monkeypatch, *gpus, cuda="13.0"):
    monkeypatch.setattr(devices, "probe", lambda name: {"torch": "2", "cuda": cuda, "hip": None, "gpus": list(gpus)})


def test_every_gpu_is_a_line(monkeypatch):
    with_gpus(monkeypatch, gpu(), gpu(error="CUDA error: device busy"))
    one, other = devices.check_gpus()
    assert (one.level, other.level) == ("ok", "problem")
    assert "70.0 of 80.0 GB free" in one.text and "device busy" in other.text and "nvidia-smi" in other.advice


@pytest.mark.parametrize(
    ("driver", "cuda", "level", "text"),
    [
        (None, None, "ok", "none; runs train on the CPU"),
        ("/usr/bin/nvidia-smi", None, "problem", "built for the CPU only"),
        ("/usr/bin/nvidia-smi", "13.0", "warning", "finds no GPU"),
    ],
)
def test_no_gpu_is_a_problem_where_there_should_be_one(monkeypatch, driver, cuda, level, text):
    with_gpus(monkeypatch, cuda=cuda)
    monkeypatch.setattr(devices.shutil, "which", lambda name: driver)
    found = only(devices.check_gpus(), "gpu")
    assert found.level == level and text in found.text


@pytest.mark.parametrize("check", [devices.check_gpus, decoders.check_decoders])
def test_a_probe_that_dies_is_a_problem(monkeypatch, check):
    for module in (devices, decoders):
        monkeypatch.setattr(module, "probe", raising(RuntimeError("ImportError: libx.so: not found")))
    (found,) = check()
    assert found.level == "problem" and "libx.so" in found.text


def test_a_probe_says_why_it_has_no_answer(monkeypatch, tmp_path):
    program(tmp_path, "python", "kill -SEGV $$")
    monkeypatch.setattr(probe.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(RuntimeError, match="ended with -11, without a word"):
        probe.probe("probe_devices")
    program(tmp_path, "python", "exec sleep 60")
    monkeypatch.setattr(probe, "SECONDS", 0.2)
    with pytest.raises(RuntimeError, match=r"no answer within 0\.2 s"):
        probe.probe("probe_devices")


def test_fewer_cores_and_little_memory_are_warnings(monkeypatch, tmp_path):
    group = tmp_path / "job"
    group.mkdir()
    (group / "cpu.max").write_text("50000 100000\n")
    (tmp_path / "memory.max").write_text(f"{GB}\n")
    (group / "memory.max").write_text("max\n")
    monkeypatch.setattr(devices, "CGROUP", tmp_path)
    own = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda path, **k: "0::/job\n" if path == Path("/proc/self/cgroup") else own(path, **k)
    )
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    found = list(devices.check_processor())
    assert only(found, "cores").text == "0.5 cores for this process, of 64 of the machine"
    assert "--data.num_workers 1" in only(found, "cores").advice
    assert only(found, "memory").text.startswith("1.0 GB") and only(found, "memory").level == "warning"


@pytest.mark.parametrize(
    ("installed", "error", "level"), [(None, "x", "ok"), ("0.17", "", "ok"), ("0.17", "x", "warning")]
)
def test_torchcodec_counts_only_where_it_is_installed(monkeypatch, installed, error, level):
    monkeypatch.setattr(decoders, "installed", lambda name: installed)
    answer = {"av": "18", "ffmpeg": "8", "pyav": "", "torchcodec": error}
    monkeypatch.setattr(decoders, "probe", lambda name: answer)
    assert only(decoders.check_decoders(), "torchcodec").level == level
    monkeypatch.setattr(decoders, "probe", lambda name: answer | {"pyav": "decodes other pixels"})
    assert only(decoders.check_decoders(), "pyav").level == "problem"


# services


@pytest.mark.parametrize(
    ("environment", "level", "text"),
    [
        ({}, "ok", "offline (no key)"),
        ({"WANDB_MODE": "offline"}, "ok", "offline (WANDB_MODE=offline)"),
        ({"WANDB_MODE": "disabled"}, "warning", "nothing is recorded"),
        ({"WANDB_MODE": "online"}, "problem", "there is no key"),
    ],
)
def test_the_mode_of_wandb(monkeypatch, tmp_path, environment, level, text):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = only(services.check_wandb(), "wandb")
    assert found.level == level and text in found.text


def test_a_key_without_a_server_that_answers(monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{port}")
        assert only(services.check_wandb(), "wandb").text == f"online: a key is set, 127.0.0.1:{port} answers"
    found = only(services.check_wandb(), "wandb")
    assert found.level == "warning" and "does not answer" in found.text and "WANDB_MODE=offline" in found.advice
    monkeypatch.setenv("https_proxy", "proxy.local:3128")
    assert services.server() == ("proxy.local", 3128)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A PATH of fakes alone."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_slurm_not_there_in_part_and_answering(path):
    assert only(services.check_slurm(), "slurm").text == "not on this machine"
    program(path, "sbatch", "")
    assert only(services.check_slurm(), "slurm").text == "no scontrol, sinfo, srun in PATH"
    for name in services.SLURM:
        program(path, name, "echo '4 idle'; echo '2 mix'")
    assert only(services.check_slurm(), "slurm").text == "nodes: 4 idle, 2 mix"


def test_slurm_that_fails_or_hangs(path, monkeypatch):
    for name in services.SLURM:
        program(path, name, "echo 'slurm_load_partitions: Unable to contact' >&2; exit 1")
    found = only(services.check_slurm(), "slurm")
    assert found.level == "warning" and "Unable to contact" in found.text
    monkeypatch.setattr(services.subprocess, "run", raising(subprocess.TimeoutExpired("sinfo", 5)))
    assert only(services.check_slurm(), "slurm").text == "sinfo gives no answer within 5 s"


def test_an_interactive_allocation_that_would_confuse_lightning(path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert only(services.check_slurm(), "slurm job").level == "ok"
    monkeypatch.setenv("SLURM_NTASKS", "4")
    found = only(services.check_slurm(), "slurm job")
    assert found.level == "warning" and "in job 7 of 4 tasks, and not under srun" in found.text
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    monkeypatch.setenv("SLURM_PROCID", "0")
    assert only(services.check_slurm(), "slurm job").text == "in job 7, under srun"


# disks


def disk(monkeypatch, gigabytes, files=10**6):
    monkeypatch.setattr(os, "statvfs", lambda path: Disk(int(gigabytes * GB), 1, 10**7, files))


@pytest.mark.parametrize(
    ("gigabytes", "system", "level", "advice"),
    [
        (0.5, "ext4", "problem", "another --runs"),
        (5, "ext4", "warning", "enough for small models"),
        (500, "ext4", "ok", ""),
        (500, "nfs4", "warning", "keep data and TMPDIR on a local disk"),
        (500, "tmpfs", "warning", "gone after a restart"),
        (500, "overlay", "warning", "of a container"),
    ],
)
def test_space_and_kind_of_the_runs_folder(monkeypatch, tmp_path, gigabytes, system, level, advice):
    disk(monkeypatch, gigabytes)
    monkeypatch.setattr(storage, "kind", lambda path: system)
    found = only(storage.check_runs(tmp_path / "not/there/yet"), "runs")
    assert found.level == level and advice in found.advice


def test_the_kind_is_that_of_the_nearest_mount(monkeypatch, tmp_path):
    mounts = f"/dev/a / ext4 rw 0 0\nserver:/x {tmp_path}/my\\040runs nfs4 rw 0 0\n"
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: mounts)
    assert storage.kind(tmp_path / "my runs" / "a") == "nfs4"
    assert storage.kind(tmp_path / "other") == "ext4"


def test_a_folder_that_refuses_files_locks_or_renames(monkeypatch, tmp_path):
    disk(monkeypatch, 500, files=3)
    assert "no room for more files" in next(
        each.text for each in storage.check_runs(tmp_path) if each.level == "problem"
    )
    disk(monkeypatch, 500)
    monkeypatch.setattr(storage, "FileLock", raising(OSError(errno.ENOLCK, "No locks available")))
    assert "No locks available" in only(storage.check_runs(tmp_path), "locks").text
    monkeypatch.setattr(storage, "FileLock", lambda path, timeout: nullcontext())
    assert "does not keep others out" in only(storage.check_runs(tmp_path), "locks").text
    monkeypatch.setattr(os, "fsync", raising(OSError(errno.EIO, "Input/output error")))
    assert "Input/output error" in only(storage.check_runs(tmp_path), "renames").text
    monkeypatch.setattr(storage.tempfile, "TemporaryDirectory", raising(OSError(errno.EROFS, "Read-only file system")))
    problems = [each for each in storage.check_runs(tmp_path) if each.level == "problem"]
    assert len(problems) == 1 and "Read-only file system" in problems[0].text and problems[0].advice


def test_temporary_files(monkeypatch, tmp_path):
    monkeypatch.setattr(storage.tempfile, "tempdir", str(tmp_path))
    disk(monkeypatch, 0.5)
    assert only(storage.check_temporary(), "TMPDIR").level == "warning"
    disk(monkeypatch, 50)
    assert only(storage.check_temporary(), "TMPDIR").level == "ok"
    monkeypatch.setattr(storage.tempfile, "tempdir", str(tmp_path / "none"))
    found = only(storage.check_temporary(), "TMPDIR")
    assert found.level == "problem" and "set TMPDIR" in found.advice


def test_shared_memory(monkeypatch, tmp_path):
    disk(monkeypatch, 0.0625)
    found = only(storage.check_shared_memory(tmp_path), "/dev/shm")
    assert found.level == "warning" and "--shm-size" in found.advice and "at least 1.0 GB" in found.advice
    disk(monkeypatch, 2)
    assert only(storage.check_shared_memory(tmp_path), "/dev/shm").level == "ok"
    monkeypatch.setattr(storage, "allowed_cores", lambda: 128)
    assert only(storage.check_shared_memory(tmp_path), "/dev/shm").level == "warning", "small for a worker per core"
    assert only(storage.check_shared_memory(tmp_path / "none"), "/dev/shm").text == "not there"


# data sets


def test_data_sets_are_found_by_their_annotations(tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path / "cache"))
    for name, mark in data_sets.MARKS.items():
        path = tmp_path / "sets" / name / mark
        path.parent.mkdir(parents=True)
        path.touch()
    found = [each for each in data_sets.check_data([tmp_path / "sets"]) if each.name == "data sets"]
    assert len(found) == len(data_sets.MARKS)
    assert all(any(each.text.startswith(f"{name} in ") for each in found) for name in data_sets.MARKS)
    monkeypatch.setattr(data_sets, "USUAL", (str(tmp_path / "sets"), "/no/such/place"))
    assert len([each for each in data_sets.check_data([]) if each.name == "data sets"]) == len(data_sets.MARKS)


def test_places_without_data(tmp_path, monkeypatch):
    monkeypatch.setattr(data_sets, "USUAL", (str(tmp_path),))
    assert only(data_sets.check_data([]), "data sets").level == "ok"
    assert only(data_sets.check_data([tmp_path]), "data sets").level == "warning"
    found = only(data_sets.check_data([tmp_path / "none"]), "data sets")
    assert found.level == "problem" and "no such folder" in found.text
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = list(data_sets.check_data([tmp_path]))
    assert [each.level for each in found] == ["problem", "problem"]
    monkeypatch.undo()
    disk(monkeypatch, 0.1)
    assert only(data_sets.check_data([tmp_path]), "data").level == "problem"


# limits


def test_limits(monkeypatch):
    values = {resource.RLIMIT_NOFILE: (256, 4096), resource.RLIMIT_FSIZE: (GB, GB), resource.RLIMIT_AS: (8 * GB, -1)}
    monkeypatch.setattr(resource, "getrlimit", values.get)
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "ascii")
    found = list(limits.check_limits())
    assert [each.level for each in found] == ["warning"] * 4
    assert only(found, "open files").advice == "ulimit -n 4096 before the command"
    assert only(found, "file size").text == "limited to 1.0 GB (ulimit -f)"
    assert "8.0 GB" in only(found, "memory").text and "PYTHONUTF8" in only(found, "encoding").advice
    values |= dict.fromkeys(values, (-1, -1))
    assert only(limits.check_limits(), "open files").text == "not limited"
