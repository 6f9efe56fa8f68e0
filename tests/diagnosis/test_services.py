"""W&B and Slurm, answering, failing and hanging."""

import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lit_video.diagnosis import services
from tests.diagnosis.fakes import only, program, raising


@contextmanager
def answering(status):
    """The address of a server that gives every request this answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(status)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_address[1]}"
        served.shutdown()


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
    with answering(404) as url:
        monkeypatch.setenv("WANDB_BASE_URL", url)
        assert only(services.check_wandb(), "wandb").text == f"online: a key is set, {url} answers"
    found = only(services.check_wandb(), "wandb")
    assert found.level == "warning" and "cannot be reached" in found.text and "WANDB_MODE=offline" in found.advice


def test_an_open_port_behind_which_nothing_works_is_no_server(monkeypatch):
    """As a run sees it, which then records offline: of a gateway without its server, a proxy that refuses."""
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    with answering(502) as url:
        monkeypatch.setenv("WANDB_BASE_URL", url)
        found = only(services.check_wandb(), "wandb")
    assert found.level == "warning" and "it answers 502" in found.text


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
