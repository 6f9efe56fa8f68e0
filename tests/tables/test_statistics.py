"""Intervals that cover as often as they claim, and agreement counted by hand."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from lit_video.tables.statistics import agreement, kendall_tau, paired_difference


def drawn(rng, rate, videos):
    return rng.random(videos) < rate


def test_the_interval_covers_the_true_difference_about_as_often_as_it_claims():
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(200):
        easy = rng.random(300)  # videos differ; what one row finds easy, the other does too
        first = [rng.random(300) < 0.3 + 0.6 * easy]
        second = [rng.random(300) < 0.2 + 0.6 * easy]
        interval = paired_difference(first, second, seed=trial)
        covered += interval.low <= 10 <= interval.high
    assert 180 <= covered <= 199  # 95 % of 200 is 190; a binomial's three standard deviations are 9


def test_rows_of_two_seeds_that_are_far_apart_seldom_differ_for_certain(monkeypatch):
    monkeypatch.setattr("lit_video.tables.statistics.RESAMPLES", 500)
    rng = np.random.default_rng(0)
    certain = 0
    for trial in range(300):
        one, other = ([drawn(rng, 0.6 + 0.1 * rng.standard_normal(), 1024) for _ in range(2)] for _ in "ab")
        interval = paired_difference(one, other, seed=trial)
        certain += not interval.low <= 0 <= interval.high
    assert certain < 70  # still more than 5 % of 300; without the stretch of seeds' spread they are 90


def test_pairing_narrows_the_interval_of_rows_that_fail_on_the_same_videos():
    rng = np.random.default_rng(1)
    first = drawn(rng, 0.6, 500)
    alike = first.copy()
    alike[:10] = False
    apart = rng.permutation(alike)
    near, far = paired_difference([first], [alike]), paired_difference([first], [apart])
    assert near.value == pytest.approx(far.value)
    assert near.high - near.low < 0.3 * (far.high - far.low)


def test_the_interval_is_that_of_drawing_videos_one_by_one():
    rng = np.random.default_rng(5)
    first, second = (np.array([drawn(rng, rate, 50) for _ in range(2)], float) for rate in (0.7, 0.4))
    values = []
    for _ in range(4000):
        videos = rng.integers(0, 50, 50)
        one, other = (
            rows.mean(0)[videos].mean() + 2**0.5 * (rows[rng.integers(0, 2, 2)].mean(0) - rows.mean(0))[videos].mean()
            for rows in (first, second)
        )
        values.append(100 * (one - other))
    interval = paired_difference(first > 0, second > 0)
    assert interval.value == pytest.approx(100 * (first.mean() - second.mean()))
    assert (interval.low, interval.high) == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=1.5)


def test_seeds_that_disagree_widen_the_interval():
    videos = 400
    good, bad = np.ones(videos, bool), np.zeros(videos, bool)
    middling = np.arange(videos) % 2 == 0
    unsteady, steady = [good, bad, middling], [middling] * 3
    wide, narrow = paired_difference(unsteady, steady), paired_difference(steady, steady)
    assert wide.value == pytest.approx(0)
    assert wide.low < -20
    assert wide.high > 20
    assert (narrow.value, narrow.low, narrow.high) == pytest.approx((0, 0, 0))


def test_rows_tested_on_other_videos_cannot_be_paired():
    with pytest.raises(ValueError, match="tested on 5 and on 4 videos"):
        paired_difference([np.ones(5, bool)], [np.ones(4, bool)])


def naive_tau(x, y):
    pairs = [(i, j) for i in range(len(x)) for j in range(i)]
    signs = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i, j in pairs]
    untied = [np.sqrt(sum(s[k] != 0 for s in signs)) for k in (0, 1)]
    return sum(a * b for a, b in signs) / (untied[0] * untied[1])


@pytest.mark.parametrize("ties", [False, True])
def test_kendalls_tau_is_that_of_counting_pairs(ties):
    rng = np.random.default_rng(3)
    for _ in range(10):
        x, y = rng.integers(0, 4 if ties else 1000, (2, 7))
        assert kendall_tau(x, y) == pytest.approx(naive_tau(x, y))
        assert kendall_tau(x, y) == pytest.approx(kendalltau(x, y).statistic)


def test_there_is_no_tau_of_one_row_or_of_equal_rows():
    assert kendall_tau([1.0], [2.0]) is None
    assert kendall_tau([1.0, 2.0], [5.0, 5.0]) is None


def test_agreement_counts_what_the_data_support_contradict_and_cannot_decide():
    rng = np.random.default_rng(4)
    # the paper: best > good > poor = tied; ours: good is far above best, poor is the worst, tied was not run
    paper = {"best": 64.0, "good": 60.0, "poor": 45.0, "tied": 45.0, "alike": 59.0, "silent": 1.0}
    hits = {
        name: [drawn(rng, rate, 600) for _ in range(3)] for name, rate in (("best", 0.7), ("good", 0.9), ("poor", 0.3))
    }
    hits["alike"] = [seed.copy() for seed in hits["best"]]
    ours = {name: 100 * float(np.mean(seeds)) for name, seeds in hits.items()} | {"silent": 10.0}
    result = agreement(paper, ours, hits)
    assert result.rows == 5
    verdicts = {(o.better, o.worse): o.verdict for o in result.orderings}
    assert verdicts == {
        ("best", "good"): "contradicted",
        ("best", "poor"): "supported",
        ("best", "alike"): "undecided",
        ("good", "poor"): "supported",
        ("good", "alike"): "supported",
        ("alike", "poor"): "supported",
        **{(name, "silent"): "undecided" for name in ("best", "good", "poor", "alike")},  # it kept no predictions
    }
    assert (result.count("supported"), result.count("contradicted"), result.count("undecided")) == (4, 1, 5)
    names = ["best", "good", "poor", "alike", "silent"]
    assert result.tau == pytest.approx(naive_tau([paper[n] for n in names], [ours[n] for n in names]))
