"""Fixtures of the commands' tests: rows of experiments/ trained for an epoch."""

from subprocess import Popen

import pytest

from lit_video.__main__ import main
from lit_video.engine.step_times import Pace
from lit_video.errors import RunFailed
from lit_video.launching import queue
from tests.conftest import FOUR_SKILLS


def one_line(capsys):
    """Return the error output, which must be one line."""
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def train_nothing(*files, **asked):
    """Stand for ``fit``, without a result."""
    raise RunFailed("nothing is trained in this test")


def row_in_this_process(command, *_):
    """Run a row here, and return a shell that stands for the row's process and exits with its status."""
    return Popen(["sh", "-c", f"exit {main(command[3:])}"])


@pytest.fixture
def rows_in_this_process(monkeypatch):
    """Queue whose rows run in this process."""
    monkeypatch.setattr(queue, "launch", row_in_this_process)


@pytest.fixture
def known_pace(monkeypatch):
    """Plans without a first answer, and with a given pace of their trainings: both take most of a plan's time."""
    pace = Pace(start=0.1, step=0.01, first_read=0.001, view=0.001, other_view=0.001, stage=0.01)
    monkeypatch.setattr("lit_video.training.rehearsal.rehearse", lambda *settings, **options: pace)
    monkeypatch.setattr("lit_video.own_videos.plan.first_answer", lambda *videos: None)


@pytest.fixture
def fitted(made_once, tiny):
    """Function that trains a row of ``experiments/`` for an epoch, once for all tests, and returns the run's folder."""

    def train(table, row, *flags):
        def fit(runs):
            given = [*tiny, *FOUR_SKILLS, *flags, "--trainer.max_epochs=1", "--trainer.logger=false"]
            command = ["fit", "--config", f"experiments/{table}.yaml", "--row", row, "--runs", str(runs)]
            assert main([*command, *given]) == 0

        name = "".join(letter for letter in "-".join([table, row, *flags]) if letter.isalnum() or letter in "-_")
        return made_once(name, fit) / table / "embedded" / row / "seed0"

    return train
