"""W&B and Slurm, answering, failing and hanging."""

import socket
import subprocess

import pytest

from lit_video.diagnosis import services
from tests.diagnosis.fakes import only, program, raising


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
