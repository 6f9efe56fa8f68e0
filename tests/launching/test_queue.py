"""Test the queue of this machine, with shell scripts as runs."""

import os
import signal
import sys
from types import SimpleNamespace

import pytest
from filelock import FileLock

from lit_video.errors import RunFailed, RunStopped, UserError
from lit_video.launching import queue as queue_module
from lit_video.launching.queue import HERE, Queue, run_here, slots
from lit_video.runs.folder import read_status, write_status
from lit_video.runs.record import Status


@pytest.fixture
def script(tmp_path):
    """Function that makes a run of a shell script, which works in the run's folder."""

    def make(name, code):
        folder = tmp_path / name
        command = ["sh", "-c", f"cd {folder}; {code}"]
        return SimpleNamespace(name=name, folder=folder, log=folder / "log.txt", command=command)

    return make


def work(*runs, slots=(HERE,), watch=lambda: None):
    """Run a queue to its end; return it and its lines."""
    lines = []
    queue = Queue(slots, lines.append)
    queue.work(runs, watch)
    return queue, lines


def test_a_failed_run_does_not_stop_the_others(script):
    bad, killed, good = (
        script("bad", "echo one; echo boom; exit 3"),
        script("killed", "kill -9 $$"),
        script("good", ":"),
    )
    queue, lines = work(bad, killed, good)
    assert queue.missing == [bad, killed]
    assert lines[1].startswith("bad: FAILED: boom (log ")
    assert lines[3].startswith("killed: FAILED: killed by SIGKILL") and lines[5] == "good: done"
    assert bad.log.read_text() == "one\nboom\n"


def test_the_reason_that_a_run_wrote_itself_is_kept(script):
    code = "import pathlib, sys; from lit_video.runs.record import *; from lit_video.runs.folder import *; "
    code += "write_status(pathlib.Path(), Status('failed', 3, message='no memory')); sys.exit('later')"
    run = script("run", f'exec {sys.executable} -c "{code}"')
    run.folder.mkdir()
    write_status(run.folder, Status("failed", 1, 8, message="of the attempt before"))
    _, lines = work(run)
    assert lines[-1].startswith("run: FAILED: no memory")
    assert read_status(run.folder).step == 3


@pytest.fixture
def run_all(monkeypatch):
    """Function that runs scripts as ``sweep`` does, without looking for their results."""

    def run(*runs):
        monkeypatch.setattr(queue_module, "unfinished", list)
        run_here("sweep", runs, [HERE], reuse=False)

    return run


def test_a_run_that_a_time_limit_stopped_has_not_failed(script, run_all, capsys):
    out_of_time, good = script("limited", "echo stopped by max_time; exit 75"), script("good", ":")
    with pytest.raises(RunStopped) as stopped:
        run_all(out_of_time, good)
    assert stopped.value.status == 75
    printed = capsys.readouterr().out
    assert "limited: stopped at a checkpoint: stopped by max_time\n" in printed
    assert "FAILED" not in printed

    with pytest.raises(RunFailed, match="2 runs"):
        run_all(out_of_time, script("bad", "exit 3"))


MEET = "touch here; for i in $(seq 300); do test -e ../{}/here && exit; sleep 0.1; done; exit 1"


def test_as_many_run_at_a_time_as_there_are_places(script):
    queue, _ = work(script("a", MEET.format("b")), script("b", MEET.format("a")), slots=[HERE, HERE])
    assert not queue.missing


def test_a_run_knows_its_device_and_nothing_of_the_job_around_it(script, monkeypatch):
    for name in ("SLURM_JOB_ID", "SLURM_NTASKS", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("RANKING", "kept")
    run = script("run", "env")
    work(run, slots=[{"CUDA_VISIBLE_DEVICES": "3"}])
    environment = dict(line.split("=", 1) for line in run.log.read_text().splitlines() if "=" in line)
    assert environment["CUDA_VISIBLE_DEVICES"] == "3"
    assert environment["RANKING"] == "kept"
    assert environment["LIT_VIDEO_PARENT"] == str(os.getpid())
    assert not {"SLURM_JOB_ID", "SLURM_NTASKS", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE"} & environment.keys()


def test_a_run_that_somebody_else_began_is_left_alone(script):
    run, other = script("run", "touch ran"), script("other", "touch ran")
    other.folder.mkdir()
    write_status(other.folder, Status("training", host="node7"))
    queue, lines = work(run, other)
    assert queue.missing == [other] and not (other.folder / "ran").exists()
    assert lines[-1] == "other: runs elsewhere, left alone (training on node7)"


def test_a_run_that_another_process_locks_while_it_imports_is_left_alone(script):
    run = script("run", "while ! test -e lock; do sleep 0.05; done; echo error: another >&2; exit 2")
    run.folder.mkdir()
    lock = FileLock(run.folder / "lock")
    queue, lines = work(run, watch=lambda: lock.acquire(timeout=0))
    assert queue.missing == [run] and "left alone" in lines[-1]
    assert read_status(run.folder) is None, "the other process writes the status"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_stops_what_was_started_and_starts_nothing_more(script, number):
    passed_on = "USR1" if number is signal.SIGUSR1 else "TERM"
    first = script("first", f"trap 'echo stopped; exit 143' {passed_on}; touch ready; while :; do sleep 0.1; done")
    second = script("second", "touch ran")
    sent = []

    def watch():
        if (first.folder / "ready").exists() and not sent:
            sent.append(os.kill(os.getpid(), number))

    before = signal.getsignal(number)
    lines = []
    queue = Queue([HERE], lines.append)
    queue.work([first, second], watch)
    assert queue.stop is number and not queue.missing
    assert first.log.read_text() == "stopped\n"
    assert "first: stopped" in lines
    assert not (second.folder / "ran").exists()
    assert signal.getsignal(number) is before


def test_an_error_leaves_no_process(script):
    run = script("run", f"exec {sys.executable} -c 'import time; time.sleep(1000)'")
    processes = []

    def watch():
        processes.extend(attempt.process for attempt in queue._running)
        raise RuntimeError

    queue = Queue([HERE], print)
    with pytest.raises(RuntimeError):
        queue.work([run], watch)
    assert processes[0].returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("given", "args", "shared"),
    [
        (None, (None, None), ["0", "1", "2", "3"]),
        (None, (None, 2), ["0,1", "2,3"]),
        (None, (None, 3), ["0,1,2"]),
        (None, (2, None), ["0", "1"]),
        ("2, GPU-a", (None, None), ["2", "GPU-a"]),
    ],
)
def test_gpus_are_shared_out(given, args, shared, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2 if given else 4)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given) if given else monkeypatch.delenv("CUDA_VISIBLE_DEVICES", False)
    assert [slot["CUDA_VISIBLE_DEVICES"] for slot in slots(*args)] == shared
    with pytest.raises(UserError, match=r"--gpus-per-run 8: this machine has .*; give --jobs N on a CPU"):
        slots(None, 8)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert len(slots(3, None)) == 3, "as told"


@pytest.mark.parametrize(("jobs", "variables"), [(None, [{}]), (1, [{}]), (2, [{"OMP_NUM_THREADS": "4"}] * 2)])
def test_jobs_on_a_cpu_share_its_cores(jobs, variables, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(8))
    assert slots(jobs, None) == variables
