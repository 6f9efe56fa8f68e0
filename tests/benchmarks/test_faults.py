"""Test that the fault harness finds runs that lose a result, give a wrong one, or leave a process behind."""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchmarks.faults import cells as module
from benchmarks.faults import runs
from benchmarks.faults.cells import Cell, Injection, read_outcome, run_cell, wrong_words
from benchmarks.faults.faults import _runs_package, flip, trap
from benchmarks.faults.page import found, page
from benchmarks.faults.runs import Setting
from benchmarks.soak import cells, main, name_of, plan
from lit_video.engine.checkpoints import RUN_KEY, damage
from lit_video.errors import UserError
from tests.conftest import ROOT
from tests.fake_runs import write_result

LINE, DIED = "error: --runs: cannot write", "error: tw1 seed 0: another process of this run died"


@pytest.fixture
def right(tmp_path):
    """Folder with a result and its weights."""
    write_result(tmp_path, metrics={"test/video_top1": 50.0}, steps=4, test_videos=8)
    torch.save({"state_dict": {"w": torch.arange(2000.0)}, RUN_KEY: {}}, tmp_path / "last.ckpt")
    (tmp_path / "curves.csv").write_text("epoch,train/loss\n1,2.0\n")
    np.savez(tmp_path / "predictions.npz", logits=np.eye(8))
    return tmp_path


@dataclass(frozen=True)
class FakeSetting(Setting):
    """Setting that starts a fake run with a habit."""

    right: str = ""
    habit: str = "none"

    def command(self, runs):
        return [sys.executable, str(ROOT / "tests/benchmarks/fake_run.py"), self.folder(runs), self.right, self.habit]


class FakeReferences:
    def __init__(self, right):
        self.data = right / "none"
        self.right = right

    def outcome(self, setting):
        return read_outcome(self.right)


@pytest.mark.parametrize(
    ("habit", "expected"),
    [
        ("none", []),
        ("wrong", ["WRONG: metrics {'test/video_top1': 62.5}, not {'test/video_top1': 50.0}", "NOT RECOVERED"]),
        ("crash", ["exit status -6", "NOT RECOVERED"]),
        ("orphan", ["SIGTERM: process sleep 60  lives on"]),
    ],
)
def test_what_a_run_does_wrong_after_a_signal_is_found(habit, expected, right, monkeypatch):
    monkeypatch.setattr(module, "GRACE", 0.2)
    cell = Cell(FakeSetting(right=str(right), habit=habit), (Injection("SIGTERM", "training"),))
    record = asdict(run_cell(cell, FakeReferences(right)))
    seen = found(record)
    assert record["injections"][0]["hit"]
    assert all(any(part in text for text in seen) for part in expected), seen
    assert bool(seen) == bool(expected), seen


@contextmanager
def busy(number):
    """Keep the first core of this process busy by processes that do nothing else."""
    core = min(os.sched_getaffinity(0))
    program = f"import os; os.sched_setaffinity(0, {{{core}}}); print(flush=True)\nwhile True: 0"
    command = [sys.executable, "-c", program]
    with ExitStack() as stack:
        for _ in range(number):
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            stack.callback(process.kill)
            process.stdout.readline()
        yield


counted = pytest.mark.skipif(not runs.threads_of(os.getpid()), reason="kernel counts no waits")


@counted
def test_a_run_that_hangs_is_ended_and_one_that_gets_no_processor_is_not(right, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "END", 2.0)
    with runs.new_sandbox(tmp_path / "none") as sandbox:
        with runs.Attempt(FakeSetting(right=str(right), habit="hangs"), sandbox) as attempt:
            assert attempt.wait() is None
        start = time.monotonic()
        with busy(5), runs.Attempt(FakeSetting(right=str(right), habit="works"), sandbox) as attempt:
            assert attempt.wait() == 0
        assert time.monotonic() - start > attempt.time.seconds and attempt.time.cpu > 0.2


def test_time_in_which_threads_waited_for_a_processor_is_not_the_runs_own(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    threads = {1: runs.Thread(0.0, 0.0)}
    monkeypatch.setattr(runs, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(runs, "threads_of", lambda pid: threads)
    own = runs.OwnTime(lambda: [1])

    clock.now = 600.0
    threads = {1: runs.Thread(4.0, 500.0), 2: runs.Thread(1.0, 90.0)}
    own.look()
    assert (own.seconds, own.cpu) == (10.0, 5.0)

    clock.now = 700.0
    threads = {2: runs.Thread(1.0, 90.0)}  # thread 1 has ended, thread 2 hangs
    own.look()
    assert (own.seconds, own.cpu) == (110.0, 5.0)


@pytest.mark.parametrize(
    ("status", "err", "found"),
    [
        (2, [LINE], []),
        (2, ["cannot write"], ["exit status 2 with 0 lines of error"]),
        (1, [LINE, LINE], ["exit status 1 with 2 lines of error"]),
        (1, [LINE, DIED], []),
        (-9, ["Traceback (most recent call last):"], []),  # SIGKILL: a loader's worker may fail later
    ],
)
def test_words_of_an_end_are_checked(status, err, found):
    assert wrong_words(status, "", "\n".join(err)) == found


def test_damages_are_damages(right, tmp_path):
    path = tmp_path / "runs" / "last.ckpt"
    path.parent.mkdir()
    for harm in (flip, trap):
        path.write_bytes((right / "last.ckpt").read_bytes())
        assert damage(path) == ""
        harm(path)
        assert damage(path)


def test_a_process_that_lives_on_is_named_without_the_folders_of_this_machine():
    sandbox = SimpleNamespace(folder=Path(sys.executable).parent)
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        said = module._command(SimpleNamespace(sandbox=sandbox), process.pid)
    assert said.split()[1:] == ["-c", "print(flush=True);", "input()"] and "/" not in said


def test_files_of_a_finished_run_that_fit_does_not_read_are_deleted_as_the_report_says(right):
    (right / "predictions.npz").unlink()
    (right / "curves.csv").write_bytes(b"\x9f\x00garbage")
    module._obey_table(right)
    assert not (right / "curves.csv").exists() and (right / "run.json").exists()
    (right / "predictions.npz").write_bytes(b"garbage")
    module._obey_table(right)
    assert not (right / "run.json").exists()


def soak_of(commit, fault="SIGTERM", phase="training", status=143):
    """Return the lines of a soak of one run."""
    injection = {"fault": fault, "phase": phase, "delay": 0.0, "hit": True, "status": status, "problems": []}
    head = {"commit": commit, "command": "soak", "begun": "today", "device": "CPU", "versions": {}}
    run = {"setting": {"ranks": 1}, "injections": [injection], "recovered": True, "problems": [], "lost": []}
    return [head, run | {"wrong": [], "seconds": 1.0}]


def test_a_page_is_of_one_program_and_its_rows_have_the_order_of_the_faults():
    text = page(
        [soak_of("abc"), soak_of("abc", "SIGKILL", "test", -9), soak_of("abc", "run.json empty", "stopped", None)]
    )
    assert text.index("| SIGKILL |") < text.index("| SIGTERM |") < text.index("| run.json empty | ok |")
    with pytest.raises(UserError, match="abc, def"):
        page([soak_of("abc"), soak_of("def")])


def test_page_is_made_from_a_file_without_a_run(tmp_path, monkeypatch):
    stored = tmp_path / "soak.jsonl"
    stored.write_text("\n".join(map(json.dumps, soak_of("abc"))))
    monkeypatch.setattr("benchmarks.soak.PAGE", tmp_path / "faults.md")
    monkeypatch.setattr(sys, "argv", ["soak", "--page", str(stored)])
    assert main() == 0
    assert "| SIGTERM |" in (tmp_path / "faults.md").read_text()


def test_a_soak_that_ends_early_leaves_out_no_kind(monkeypatch):
    monkeypatch.setattr("benchmarks.soak.may_mount", lambda: True)
    planned = plan("", 0)
    matrix = [next(planned) for _ in cells()]
    assert sorted(map(name_of, matrix)) == sorted(map(name_of, cells()))
    first = [injection for cell in matrix[: len(matrix) // 2] for injection in cell.injections]
    phases = {injection.phase for injection in first if injection.delay}
    assert phases == {"validation", "after validation"} and any(not injection.delay for injection in first)


@pytest.mark.parametrize(
    ("command", "is_run"),
    [
        ("python -m lit_video fit --runs /tmp/x", True),
        ("/x/lit_video/.venv/bin/python -u -m lit_video.__main__ fit", True),
        ("/x/lit_video/.venv/bin/wandb-core --port-filename /tmp/lit_video_soak-1/port", False),
        ("/x/lit_video/.venv/bin/python -c code", False),
        ("python -m lit_video_of_mine", False),
    ],
)
def test_a_worker_is_told_by_its_module_and_not_by_the_path_of_the_checkout(command, is_run):
    assert _runs_package([word.encode() for word in command.split()]) == is_run
