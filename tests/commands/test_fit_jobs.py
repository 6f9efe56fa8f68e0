"""``fit --jobs``: rows side by side."""

import io

import pytest
from rich.console import Console

from lit_video.__main__ import main
from lit_video.commands import fit
from lit_video.launching.local import HERE


@pytest.fixture
def queued(monkeypatch):
    """What would run: names and commands of runs, and their places."""
    seen = {}

    class Recorded(fit.Queue):
        def work(self, watch=lambda: None):
            seen.update(runs=self.runs, places=self.places, keep_logs=self.keep_logs)

    monkeypatch.setattr(fit, "Queue", Recorded)
    return seen


def asked(table, tmp_path, tiny, *flags):
    return main(["fit", "--config", str(table[0]), "--runs", str(tmp_path / "runs"), *flags, *tiny])


def test_rows_run_one_after_the_other_with_all_of_the_machine(queued, table, tmp_path, tiny):
    assert asked(table, tmp_path, tiny) == 0
    assert list(queued["places"]) == [HERE]


def test_jobs_share_the_cores(queued, table, tmp_path, tiny, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(8))
    assert asked(table, tmp_path, tiny, "--jobs", "2") == 0
    assert [place.environment for place in queued["places"]] == [{"OMP_NUM_THREADS": "4"}] * 2
    assert len(queued["runs"]) == 2
    assert not any("--jobs" in flag for run in queued["runs"] for flag in run.command)


@pytest.mark.parametrize("terminal", [True, False])
def test_on_a_terminal_what_runs_print_goes_to_their_logs(queued, table, tmp_path, tiny, monkeypatch, terminal):
    monkeypatch.setattr(fit, "Console", lambda: Console(file=io.StringIO(), force_terminal=terminal))
    asked(table, tmp_path, tiny)
    assert queued["keep_logs"] is terminal


def test_no_number_of_jobs_is_refused(table, tmp_path, tiny, capsys):
    assert asked(table, tmp_path, tiny, "--jobs", "0") == 2
    assert "--jobs" in capsys.readouterr().err
