"""Progress of many runs together."""

import io

import pytest
from rich.console import Console

from lit_video.launching.states import Observed
from lit_video.launching.terminal import Overall
from lit_video.tables.status import Status

DONE, WAITING = Observed("done"), Observed("not started")


def training(step, steps=100):
    return Observed("running", status=Status("training", step, steps))


def drawn(overall, observed):
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    console.print(overall.bar(observed))
    return console.file.getvalue()


def test_the_time_left_follows_the_pace_since_the_start_of_the_command():
    now = iter([0.0, 60.0])
    overall = Overall([DONE, WAITING, WAITING, WAITING], lambda: next(now))
    # one whole run and a half of another in 60 s: as long for each of the 1.5 that are left
    assert overall.line([DONE, DONE, training(50), WAITING]) == "2 of 4 runs done, about 0:01:00 left"


def test_what_was_done_before_does_not_count_as_pace():
    now = iter([0.0, 30.0])
    overall = Overall([training(90), WAITING], lambda: next(now))
    assert overall.seconds_left([DONE, WAITING]) == pytest.approx(300)


def test_before_there_is_a_pace_and_after_the_end_nothing_is_promised():
    overall = Overall([WAITING, WAITING], lambda: 0.0)
    assert overall.line([training(0, 0), WAITING]) == "0 of 2 runs done"
    assert "left" not in overall.line([DONE, DONE])


def test_the_bar_is_as_long_as_what_is_done():
    overall = Overall([WAITING] * 4, lambda: 0.0)
    full = [drawn(overall, [DONE] * n + [WAITING] * (4 - n)).count("━") for n in range(5)]
    assert full == [0, 10, 20, 30, 40]
    assert "3 of 4 runs done" in drawn(overall, [DONE, DONE, DONE, WAITING])
