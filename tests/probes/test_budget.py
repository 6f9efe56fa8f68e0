"""Test how many videos minutes allow, and what is said about them."""

import pytest

from lit_video.errors import UserError
from lit_video.probes.heads import FEWEST_ROUNDS
from lit_video.probes.measure import MOST_ROUNDS, resolution, resolved, rounds_for
from lit_video.tables.statistics import wilson
from tests.probes.conftest import mean_colours, probed


def test_minutes_are_divided_by_the_seconds_of_a_round():
    assert rounds_for(2, 3.0, 1.0) == 40
    assert rounds_for(None, 60.0, 1.0) == FEWEST_ROUNDS
    assert rounds_for(1000, 0.01, 1.0) == MOST_ROUNDS
    with pytest.raises(UserError, match="minutes"):
        rounds_for(1, 60.0, 1.0)


def test_features_that_fill_the_disk_are_fewer_or_refused():
    assert rounds_for(100, 1.0, 4e8) == 10
    with pytest.raises(UserError, match="tokens"):
        rounds_for(100, 1.0, 2e9)


def test_the_resolution_is_half_of_the_interval_around_half():
    low, high = wilson(0.5, 64)
    assert resolution(64) == pytest.approx(50 * (high - low))
    assert "minute" in resolved(8, 30.0) and "minute" not in resolved(128, 30.0)


@pytest.mark.usefixtures("quick_probe")
def test_the_same_minutes_are_the_same_videos_at_every_call(monkeypatch):
    monkeypatch.setattr("lit_video.probes.measure.MOST_ROUNDS", 6)
    first = probed(mean_colours, pairs=None, minutes=5)
    assert first.measured.rounds == 6
    monkeypatch.setattr("lit_video.probes.measure.MOST_ROUNDS", 8)
    assert probed(mean_colours, pairs=None, minutes=5).measured.rounds == 6
    assert probed(mean_colours, pairs=None, minutes=6).measured.rounds == 8
