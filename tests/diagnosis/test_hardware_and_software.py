"""Versions, GPUs, cores and decoders: what the line says of each problem, and what to do."""

import os
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from lit_video.diagnosis import decoders, devices, probe, software
from tests.diagnosis.fakes import GB, only, program, raising


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
    with pytest.raises(RuntimeError, match="ended with -11 and no message"):
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
