"""Rows of experiments/ trained for an epoch, and what a command says."""

from subprocess import Popen

import pytest

from lit_video.__main__ import main
from lit_video.launching import queue
from tests.conftest import FOUR_SKILLS


def one_line(capsys):
    """What stands on the error stream, which is one line."""
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.fixture
def rows_in_this_process(monkeypatch):
    """Rows that run beside each other start no Python: for each there is a process that has ended with its status."""
    monkeypatch.setattr(queue, "launch", lambda command, *_: Popen(["sh", "-c", f"exit {main(command[3:])}"]))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Where :func:`fitted` keeps its runs."""
    return tmp_path_factory.mktemp("trained")


@pytest.fixture
def fitted(runs, tiny):
    """Trains a row of ``experiments/`` for an epoch, once for all tests of a file; gives the run's folder."""

    def train(table, row, *flags):
        run = runs / table / "embedded" / row / "seed0"
        if not run.exists():
            flags = [*tiny, FOUR_SKILLS, *flags, "--trainer.max_epochs=1", "--trainer.logger=false"]
            command = ["fit", "--config", f"experiments/{table}.yaml", "--row", row, "--runs", str(runs), *flags]
            assert main(command) == 0
        return run

    return train
