"""What becomes of the record, and of the run, when W&B's server, process or disk fails."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from wandb.util import get_core_path

from lit_video.training import wandb_record
from lit_video.training.wandb_record import WandbRecord
from lit_video.utils.stop_signals import DONE, PREEMPTED
from lit_video.utils.wandb_login import why_unreachable
from tests.training.wandb_server import wandb_server

SETTINGS = {"project": "lit_video", "id": "row", "resume": "allow"}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("WANDB_INIT_TIMEOUT", "2")
    monkeypatch.setenv("WANDB_X_DISABLE_STATS", "true")


def key_for(url, monkeypatch):
    monkeypatch.setenv("WANDB_BASE_URL", url)
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)


def opened(folder, rows=0):
    record = WandbRecord(folder / "wandb", folder)
    record.rows = rows
    record.open(SETTINGS | {"dir": str(folder)})
    return record


def log(record, *steps):
    for step in steps:
        record.step = step
        record.do(lambda: record.log({"loss": 1.0, "trainer/global_step": record.step}))


def cores(parent=None):
    """W&B's processes that a process started and that are alive."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        state, owner = rest.split()[:2]
        if name == "wandb-core" and state != "Z" and int(owner) == (parent or os.getpid()):
            found.append(int(stat.parent.name))
    return found


def records(path):
    """What a part of a run wrote, as ``wandb leet inspect --json`` prints it, without a second Python."""
    inspect = [get_core_path(), "leet", "inspect", "--no-observability", "--json", "--run-file", path, path.parents[1]]
    lines = subprocess.run(list(map(str, inspect)), capture_output=True, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def parts(folder):
    """The rows of history of every offline part of a run, in order."""
    paths = sorted(folder.glob("wandb/offline-run-*/*.wandb"))
    return [[one["history"]["item"] for one in records(path) if one["type"] == "history"] for path in paths]


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def silent_port():
    """A port that takes connections and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_server_is_asked_for_any_answer(monkeypatch):
    for get, expected in ((404, None), (503, "it answers 503")):
        with wandb_server(get=get) as server:
            monkeypatch.setenv("WANDB_BASE_URL", server.url)
            assert why_unreachable() == expected
    monkeypatch.setenv("WANDB_BASE_URL", unused_port())
    assert "refused" in why_unreachable()
    monkeypatch.setenv("WANDB_BASE_URL", "not an address")
    assert why_unreachable()
    listener, url = silent_port()
    with listener:
        monkeypatch.setenv("WANDB_BASE_URL", url)
        assert why_unreachable(0.2)


def test_names_that_are_looked_up_for_ever_do_not_stop_a_run(monkeypatch):
    never = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: never.wait(60))
    assert why_unreachable(0.1) == "no answer in 0 s"
    never.set()


def test_a_proxy_of_the_environment_is_asked(monkeypatch):
    with wandb_server() as proxy:
        monkeypatch.setenv("WANDB_BASE_URL", "http://wandb.invalid")
        monkeypatch.setenv("http_proxy", proxy.url)
        assert why_unreachable() is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "get", "said"),
    [
        (None, 500, "cannot be reached (it answers 500), recording offline"),
        (401, 200, "does not take the run (Failed to get resume status for run row: returned error 401"),
        ("hang", 200, "does not take the run (Failed to get resume status"),
    ],
    ids=["down", "wrong key", "hangs"],
)
def test_a_server_that_does_not_take_the_run_makes_it_an_offline_run(fault, get, said, tmp_path, monkeypatch, capfd):
    with wandb_server(fault, get) as server:
        key_for(server.url, monkeypatch)
        record = opened(tmp_path)
        log(record, 0, 1)
        record.close(DONE)
    (line,) = capfd.readouterr().out.splitlines()
    assert said in line
    assert line.endswith(f"upload: wandb sync {tmp_path}/wandb/offline-run-*")
    assert [row["trainer/global_step"] for row in parts(tmp_path)[-1]] == [0, 1]


def test_a_dead_process_ends_the_record_with_a_line(tmp_path, capfd):
    record = opened(tmp_path)
    log(record, 0, 2)
    (pid,) = cores()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    log(record, 4, 6)
    record.close(DONE)
    captured = capfd.readouterr()
    line = captured.out.splitlines()[1]
    assert line.startswith("W&B: its process died at step 4; this run's later numbers are not recorded there (those ")
    assert line.endswith(f"offline-run-*); results are in {tmp_path}")
    assert (len(captured.out.splitlines()), captured.err) == (2, "")


@pytest.mark.slow
def test_a_stopped_process_holds_nothing_up(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(wandb_record, "ANSWER", 0.5)
    record = opened(tmp_path)
    (pid,) = cores()
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(wandb_record, "UPLOAD", 0.5)
    record.close(DONE)
    os.kill(pid, signal.SIGKILL)
    assert (
        capfd.readouterr().out.splitlines()[1].startswith("W&B: not everything is uploaded; for the rest: wandb sync ")
    )


def test_a_full_disk_is_found_at_the_next_row_and_at_the_end(tmp_path, monkeypatch, capfd):
    for at_end in (False, True):
        folder = tmp_path / str(at_end)
        folder.mkdir()
        record = opened(folder)
        log(record, 0)
        (pid,) = cores()
        file = record.run.settings.sync_file
        time.sleep(1.5)  # what was logged is written within a second
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (os.path.getsize(file),) * 2)
        log(record, 1)
        if not at_end:
            monkeypatch.setenv(wandb_record.FLUSH, "0")  # do not wait for it
            log(record, 2, 3)
            monkeypatch.undo()
            assert record.run is None
        record.close(DONE)
        line = capfd.readouterr().out.splitlines()[1]
        assert "do not reach the disk (full?) at step" in line or "did not reach the disk (full?) at step" in line


def test_a_folder_that_cannot_be_written_is_named(tmp_path, capfd):
    (tmp_path / "wandb").write_text("in the way")
    record = opened(tmp_path)
    log(record, 0)
    record.close(DONE)
    (line,) = capfd.readouterr().out.splitlines()
    assert line.startswith("W&B: [Errno 17] File exists: ")
    assert line.endswith(f"this run is not recorded there; results are in {tmp_path}")


RUN = """
import os, signal, sys, time
from pathlib import Path
from tests.training.test_wandb_record import cores, log, opened
record = opened(Path(sys.argv[1]))
log(record, 0)
(pid,) = cores()
"""


def start(code, folder):
    command = [sys.executable, "-c", RUN + code, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_process_ends_well_though_its_record_is_dead_and_not_closed(tmp_path):
    run = start("os.kill(pid, signal.SIGKILL); time.sleep(0.5); sys.exit(3)", tmp_path)
    out, err = run.communicate(timeout=120)
    assert (run.returncode, err) == (3, "")
    assert "W&B: its process died" in out


@pytest.mark.slow
def test_signals_of_slurm_spare_the_process_which_ends_with_the_run(tmp_path):
    run = start("print(pid, flush=True); time.sleep(100)", tmp_path)
    pid = next(int(line) for line in run.stdout if line.strip().isdigit())
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        os.kill(pid, number)
    time.sleep(0.5)
    assert cores(run.pid) == [pid]
    run.kill()
    run.communicate()
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or ") Z " in Path(f"/proc/{pid}/stat").read_text():
            return
        time.sleep(0.1)
    raise AssertionError("W&B's process outlives the run")


@pytest.mark.slow
def test_parts_that_were_recorded_offline_are_uploaded_as_one_run(tmp_path, monkeypatch):
    record = opened(tmp_path)
    log(record, 0, 2, 4)
    record.close(PREEMPTED)
    time.sleep(1.1)  # W&B names parts by the second
    record = opened(tmp_path, rows=2)  # a checkpoint before the last row, as of a run that was killed
    log(record, 4, 6)
    record.close(DONE)
    first, second = parts(tmp_path)
    assert [row["_step"] for row in first] == [0, 1, 2]
    assert [row["_step"] for row in second] == [3, 4]
    with wandb_server() as server:
        key_for(server.url, monkeypatch)
        command = [sys.executable, "-m", "wandb", "sync", *map(str, sorted(tmp_path.glob("wandb/offline-run-*")))]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        rows = [server.history[line] for line in sorted(server.history)]
        assert [(row["_step"], row["trainer/global_step"]) for row in rows] == [(0, 0), (1, 2), (2, 4), (3, 4), (4, 6)]
        assert server.overwritten == 0
        assert [request["preempting"] for _, request in server.requests if "preempting" in request] == [True]


@pytest.mark.slow
def test_an_online_run_goes_on_online(tmp_path, monkeypatch, capfd):
    with wandb_server() as server:
        key_for(server.url, monkeypatch)
        for steps, status in (((0, 2), PREEMPTED), ((4, 6), DONE)):
            record = opened(tmp_path)
            log(record, *steps)
            record.close(status)
        rows = [server.history[line] for line in sorted(server.history)]
        assert [(row["_step"], row["trainer/global_step"]) for row in rows] == [(0, 0), (1, 2), (2, 4), (3, 6)]
        assert server.overwritten == 0
        ends = [request["exitcode"] for _, request in server.requests if "exitcode" in request]
        assert ends == [PREEMPTED, DONE]
    assert capfd.readouterr().out == ""


@pytest.mark.slow
def test_a_server_that_is_gone_at_the_end_holds_nothing_up(tmp_path, monkeypatch, capfd):
    with wandb_server() as server:
        key_for(server.url, monkeypatch)
        record = opened(tmp_path)
        server.fault = "hang"
        log(record, 0)
        monkeypatch.setattr(wandb_record, "STOP", 1.0)
        record.close(PREEMPTED)
    (line,) = capfd.readouterr().out.splitlines()
    (part,) = tmp_path.glob("wandb/run-*")
    assert line == f"W&B: not everything is uploaded; for the rest: wandb sync {part}"
