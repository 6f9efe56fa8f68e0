"""Test verdicts over both halves of the persons, each tested by models that the other one trained, from packs."""

from dataclasses import replace

import numpy as np
import pytest

from lit_video.reports.verdicts import judge_claims
from lit_video.runs.packing import pack_runs
from lit_video.runs.predictions import Draws, save_logits
from lit_video.tables.comparing import Comparison, of_both_halves
from lit_video.tables.reading import table_at
from lit_video.tables.statistics import Interval, mean_of_halves, paired_difference
from lit_video.tables.summary import read_runs
from tests.fake_runs import EXPERIMENTS, write_result
from tests.tables.experiments import all_claims

HALVES = {"utd_mhad": ("s02", "s04", "s06", "s08"), "utd_mhad+utd_mhad_other": ("s01", "s03", "s05", "s07")}
VIDEOS = 50  # for each person
WINDOW = "A window of 1 is better than one of 2."


def write_half(folder, scale, accuracy, seeds=3):
    """Write runs of the rows of X-ViT's Table 1, with an accuracy by row and a deviation by person."""
    persons = np.repeat(HALVES[scale], VIDEOS)
    for row, mean in accuracy.items():
        for seed in range(seeds):
            run = folder / "runs/ablation_tw" / scale / row / f"seed{seed}"
            run.mkdir(parents=True)
            of_person = mean + np.repeat([-0.04, -0.02, 0.02, 0.04], VIDEOS)
            right = np.tile(np.arange(VIDEOS), 4) < VIDEOS * of_person
            logits = np.stack([right, ~right], 1).astype(np.float32)
            tasks = {"": (logits, np.zeros(len(right), np.int64), ["a", "b"])}
            top1 = 100 * save_logits(run, np.arange(len(right)), tasks, draws=Draws.of_names("person", persons)).hits()
            metrics = {"test/video_top1": float(top1.mean()), "train/video_top1": 99.0}
            names = {"table": "ablation_tw", "scale": scale, "row": row, "seed": seed}
            write_result(run, **names, metrics=metrics, test_videos=len(right))


def read(folder, **by_scale):
    for scale, accuracy in by_scale.items():
        write_half(folder, scale.replace("__", "+"), accuracy)
    pack_runs(sorted((folder / "runs/ablation_tw").glob("*/*/*")), folder / "packs")
    return read_runs(table_at(EXPERIMENTS / "ablation_tw.yaml", "utd_mhad"), folder / "packs")


ROWS = {"tw1": 0.7, "tw2": 0.5, "tw2_boundary": 0.5}
LOWER = ROWS | {"tw1": 0.6}


def test_numbers_and_differences_are_of_all_persons_once_both_halves_were_run(tmp_path):
    one = read(tmp_path / "one", utd_mhad=ROWS)
    both = read(tmp_path / "both", utd_mhad=ROWS, utd_mhad__utd_mhad_other=LOWER)
    for runs, persons, top1, difference in ((one, 4, 70.0, 20.0), (both, 8, 65.0, 15.0)):
        assert runs.data.draws.count == persons
        row = next(row for row in runs.data.rows if row.name == "tw1")
        assert row.metrics["test/video_top1"].ours == pytest.approx(top1) and row.first.test_videos == VIDEOS * persons
        assert runs.compare("tw1", "tw2").difference.value == pytest.approx(difference)
    assert both.compare("tw1", "tw2").difference.error < one.compare("tw1", "tw2").difference.error


def test_a_row_that_one_half_lacks_has_neither_number_nor_verdict(tmp_path):
    runs = read(tmp_path, utd_mhad=ROWS, utd_mhad__utd_mhad_other={"tw1": 0.6})
    compared = runs.compare("tw1", "tw2")
    assert (compared.forbidden, compared.difference) == ("not run", None)
    assert compared.why == ["in the other half: not run"]
    assert [row.name for row in runs.data.rows if row.seeds] == ["tw1"]


def test_the_other_half_is_no_follow_up_of_its_own(tmp_path):
    runs = read(tmp_path, utd_mhad=ROWS, utd_mhad__utd_mhad_other=ROWS)
    (claim,) = [claim for claim in all_claims() if claim.text == WINDOW]
    (verdict,) = judge_claims([claim], [runs, runs.other])
    assert [follow_up.scale for follow_up in verdict.follow_ups] == ["utd_mhad"]


def test_what_forbids_a_verdict_in_one_half_forbids_it():
    sure = Comparison("a", "b", Interval(5.0, 4.0, 6.0, 0.5, 10))
    late = replace(sure, forbidden="unfinished", why=["a: 80 % of training clips"])
    for pair in ((sure, late), (late, sure)):
        assert of_both_halves(*pair).forbidden == "unfinished"
    assert of_both_halves(sure, late).why == ["in the other half: a: 80 % of training clips"]
    assert of_both_halves(sure, sure).forbidden is None


def test_two_equal_halves_halve_the_squared_error_and_double_the_freedom():
    half = Interval(5.0, 1.0, 9.0, error=1.0, freedom=3.0, seeds_share=0.25)
    both = mean_of_halves(half, half)
    assert (both.value, both.error, both.freedom) == pytest.approx((5.0, 0.5**0.5, 6.0))
    assert both.seeds_share == pytest.approx(0.25) and both.high - both.low < half.high - half.low
    assert not mean_of_halves(half, Interval(5.0, -np.inf, np.inf, np.inf)).bounded


def test_intervals_over_two_halves_of_four_persons_hold_their_level():
    """Draw persons and seeds anew in each half: a difference of 0 is missed in about 5 % of repeats."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), VIDEOS)
    missed = 0
    trials = 500
    for _ in range(trials):
        halves = []
        for _ in range(2):
            rows = []
            for _ in range(2):
                of_person = 0.6 + 0.1 * rng.standard_normal(4)[groups]
                rows.append([rng.random(len(groups)) < of_person + 0.02 * rng.standard_normal() for _ in range(3)])
            halves.append(paired_difference(*rows, groups=groups))
        both = mean_of_halves(*halves)
        missed += not both.low <= 0 <= both.high
    assert 0.01 <= missed / trials <= 0.065
