"""Test that intervals cover as often as they claim, and that agreement equals counts by hand."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from lit_video.tables.agreement import agreement_summary, row_pairs
from lit_video.tables.statistics import holm, kendall_tau, paired_difference


def drawn(rng, rate, videos):
    return rng.random(videos) < rate


def miss_rate(rng, seeds, spread, trials=400, videos=384):
    """Return the share of intervals that miss the true difference of two rows; ``spread`` of seeds is in points."""
    easy = rng.standard_normal(200_000)
    chances = [np.clip(mean + 0.2 * easy, 0.01, 0.99) for mean in (0.7, 0.65)]
    truth, missed = 100 * (chances[0].mean() - chances[1].mean()), 0
    for _ in range(trials):
        tested = rng.integers(0, len(easy), videos)  # both rows find the same videos easy
        rows = [
            [rng.random(videos) < chance[tested] + spread / 100 * rng.standard_normal() for _ in range(seeds)]
            for chance in chances
        ]
        interval = paired_difference(*rows)
        missed += not interval.low <= truth <= interval.high
    return missed / trials


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("spread", [1.0, 3.0, 4.5, 6.0])
def test_intervals_hold_their_level_however_far_seeds_are_apart(seeds, spread):
    assert miss_rate(np.random.default_rng(0), seeds, spread) <= 0.06


def test_the_interval_of_one_seed_covers_the_difference_of_its_models():
    assert 0.02 <= miss_rate(np.random.default_rng(1), seeds=1, spread=0.0) <= 0.08


def test_the_interval_is_welchs_where_videos_are_alike():
    """Use so many videos that only seeds matter, and compare with SciPy's interval of their means."""
    a, b = [0.1, 0.2, 0.4], [0.5, 0.3, 0.35, 0.6]
    videos = 200_000
    rows = [[np.arange(videos) % 1000 < 1000 * mean for mean in means] for means in (a, b)]
    interval = paired_difference(*rows)
    expected = ttest_ind(a, b, equal_var=False)
    ends = expected.confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((100 * ends.low, 100 * ends.high), abs=0.1)
    assert 2 * min(interval.above(0), interval.below(0)) == pytest.approx(expected.pvalue, rel=0.01)


def test_holm_rejects_from_the_smallest_until_one_stands():
    assert holm([0.02, 0.001, 0.3], 0.05) == [True, True, False]
    assert holm([0.03, 0.001, 0.03], 0.05) == [False, True, False], "0.03 is above 0.05 / 2"


def test_pairing_narrows_the_interval_of_rows_that_fail_on_the_same_videos():
    rng = np.random.default_rng(1)
    first = drawn(rng, 0.6, 500)
    alike = first.copy()
    alike[:10] = False
    apart = rng.permutation(alike)
    near, far = paired_difference([first], [alike]), paired_difference([first], [apart])
    assert near.value == pytest.approx(far.value)
    assert near.high - near.low < 0.3 * (far.high - far.low)


def test_rows_tested_on_other_videos_cannot_be_paired():
    with pytest.raises(ValueError, match="tested on 5 and on 4 videos"):
        paired_difference([np.ones(5, bool)], [np.ones(4, bool)])


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
    result = agreement_summary(paper, ours, row_pairs(paper, ours, hits))
    assert result["rows"] == 5
    verdicts = {(o["first"], o["second"]): o["verdict"] for o in result["orderings"]}
    assert verdicts == {
        ("best", "good"): "contradicted",
        ("best", "poor"): "supported",
        ("best", "alike"): "undecided",
        ("good", "poor"): "supported",
        ("good", "alike"): "supported",
        ("alike", "poor"): "supported",
        **{(name, "silent"): "undecided" for name in ("best", "good", "poor", "alike")},  # no predictions
    }
    assert [result[verdict] for verdict in ("supported", "contradicted", "undecided")] == [4, 1, 5]
