"""Test planned power against intervals of drawn runs, and the lines that it prints."""

import numpy as np
import pytest

from benchmarks.papers import power
from benchmarks.papers.power import FamilySpread, line_of, seeds_for
from lit_video.tables.claims import read_claims
from lit_video.tables.statistics import Spread, detectable, paired_difference
from tests.fake_runs import EXPERIMENTS

CLAIMS = read_claims(EXPERIMENTS)
SURE = FamilySpread(Spread(1e-4, 1000), of_videos=1.0, hours=0.1)  # 1 point over seeds, 1 point over videos


def claim_that(words):
    (claim,) = [claim for claim in CLAIMS if words in claim.text]
    return claim


def test_a_planned_error_is_that_of_the_runs():
    """Draw rows whose seeds deviate by 1 point: the interval's error is the planned one, up to chance."""
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(200):
        rows = [[rng.random(5000) < 0.7 + 0.01 * rng.standard_normal() for _ in range(3)] for _ in range(2)]
        errors.append(paired_difference(*rows).error ** 2)
    planned = FamilySpread(Spread(1e-4, 10**6), of_videos=1e4 * 2 * 0.21 / 5000 / 3, hours=1.0).difference(3)
    # the spread over seeds holds that of the videos, which are drawn anew for each seed, twice
    assert planned.error**2 == pytest.approx(np.mean(errors), rel=0.4)


def test_few_seeds_of_trials_are_trusted_less():
    few = FamilySpread(Spread(1e-4, 2), of_videos=1.0, hours=0.1)
    assert few.difference(3).error > 1.5 * SURE.difference(3).error


def test_more_seeds_show_less_up_to_the_videos():
    shown = [detectable(SURE.difference(seeds)) for seeds in (2, 3, 5, 12)]
    assert shown == sorted(shown, reverse=True)
    assert seeds_for(SURE, 1, 5.0) < seeds_for(SURE, 4, 5.0) <= power.MOST_SEEDS
    assert seeds_for(SURE, 1, 1.0) is None


def test_a_line_says_where_how_much_and_how_long_or_why_not():
    known = {"xvit": SURE}
    said = line_of(claim_that("Mixing channels of neighbouring frames"), known, 3)
    assert said.startswith("ablation_tw at embedded, 2 rows: 80 % power ") and said.endswith(" hours")
    assert "not testable as the paper puts it" in line_of(claim_that("A quarter of the channels"), known, 3)
    assert line_of(claim_that("On Kinetics-400 attention in space"), known, 3).startswith("nowhere: ")
    assert line_of(claim_that("Divided attention is better than joint"), known, 3).endswith(
        "no trials of its family yet"
    )


def test_the_trials_at_hand_give_a_line_for_every_claim(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["power"])
    assert power.main() == 0
    said = capsys.readouterr().out
    assert "xvit: standard deviation over seeds" in said
    assert sum(line.startswith("     ") for line in said.splitlines()) == len(CLAIMS)
