"""Test that intervals cover as often as they claim, and that agreement equals counts by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp, ttest_ind

from lit_video.runs.predictions import Draws
from lit_video.tables.agreement import agreement_of, kendall_tau, row_pairs
from lit_video.tables.comparing import Comparison
from lit_video.tables.row_hits import RowHits
from lit_video.tables.statistics import (
    LEVEL,
    Interval,
    accuracy_interval,
    chances_of_spread,
    detectable,
    holm_adjusted,
    paired_difference,
    pooled_spread,
)


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


def test_adjusted_chances_are_holms_by_hand():
    assert holm_adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_adjusted([0.03, 0.001, 0.03]) == pytest.approx([0.06, 0.003, 0.06])
    assert holm_adjusted([0.9, 0.8]) == [1.0, 1.0], "no chance is above 1"


def seed_means(rng, seeds, spread):
    return 0.6 + spread / 100 * rng.standard_normal(seeds)


def seeds_of(rng, means, videos=400):
    """Return hits of trainings with these mean accuracies, on videos that all find equally easy."""
    return [rng.random(videos) < mean for mean in means]


def test_a_lucky_row_of_three_seeds_is_judged_by_the_spread_of_its_table():
    """Compare rows that differ in nothing, whose seeds spread by 1 to 5 points, in tables of five rows."""
    rng = np.random.default_rng(0)
    rejected = {"own": 0, "pooled": 0}
    trials = 1000
    for _ in range(trials):
        table = [seeds_of(rng, seed_means(rng, 3, spread)) for spread in (1, 2, 3, 4, 5)]
        pooled = pooled_spread(np.mean(row, axis=1) for row in table)
        first, second = (table[i] for i in rng.choice(5, 2, replace=False))
        rejected["own"] += paired_difference(first, second).sign != 0
        rejected["pooled"] += paired_difference(first, second, pooled=pooled).sign != 0
    assert rejected["pooled"] / trials <= 0.05
    assert rejected["pooled"] <= rejected["own"]


def test_a_pooled_spread_widens_lucky_rows_of_few_seeds_alone():
    lucky, wide = [0.60, 0.601, 0.602], [0.5, 0.6, 0.7]
    pooled = pooled_spread(map(np.array, (lucky, wide)))
    assert (pooled.variance, pooled.freedom) == (pytest.approx((1e-6 + 0.01) / 2), 4)

    def width(means, table):
        rows = [[np.arange(1000) < 1000 * mean for mean in row] for row in (means, [0.5, 0.55, 0.6, 0.55, 0.5])]
        interval = paired_difference(*rows, pooled=table)
        return interval.high - interval.low

    assert width(lucky, pooled) > 2 * width(lucky, None)
    assert width(wide, pooled) == width(wide, None), "a wider row keeps its own"
    assert width([*lucky, 0.6, 0.601], pooled) == width([*lucky, 0.6, 0.601], None), "five seeds are enough"


def clustered_miss_rate(rng, sizes, by_video, seeds=3, trials=500):
    """Return the share of intervals that miss a true difference of 0, if videos come in clusters.

    A row's accuracy in a cluster has a standard deviation of 10 points; ``by_video`` ignores the clusters.
    """
    groups = np.repeat(np.arange(len(sizes)), sizes)
    missed = 0
    for _ in range(trials):
        rows = []
        for _ in range(2):
            chances = 0.6 + 0.1 * rng.standard_normal(len(sizes))[groups]
            rows.append([rng.random(len(groups)) < chances + 0.01 * rng.standard_normal() for _ in range(seeds)])
        interval = paired_difference(*rows, groups=None if by_video else groups)
        missed += not interval.low <= 0 <= interval.high
    return missed / trials


@pytest.mark.parametrize("sizes", [(107, 108, 108, 107), (20, 60, 100, 220), (26,) * 10, (5, 40) * 8])
def test_intervals_over_clusters_hold_their_level_where_intervals_over_videos_do_not(sizes):
    rng = np.random.default_rng(0)
    assert clustered_miss_rate(rng, sizes, by_video=False) <= 0.065
    assert clustered_miss_rate(rng, sizes, by_video=True) > 0.15


def test_an_interval_over_few_clusters_is_students_of_their_means():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), (10, 20, 30, 40))
    first, second = drawn(rng, 0.7, 100), drawn(rng, 0.5, 100)
    interval = paired_difference([first], [second], groups=groups)
    means = [first[groups == i].mean() - second[groups == i].mean() for i in range(4)]
    expected = ttest_1samp(means, 0).confidence_interval(0.95)
    assert interval.value == pytest.approx(100 * np.mean(means))
    assert (interval.low, interval.high) == pytest.approx((100 * expected.low, 100 * expected.high))


def test_an_interval_over_many_clusters_is_that_of_resampled_clusters():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), rng.integers(1, 9, 60))
    of_cluster = 0.3 * rng.standard_normal(60)[groups]
    first, second = (rng.random(len(groups)) < 0.5 + of_cluster), drawn(rng, 0.5, len(groups))
    difference = first.astype(float) - second
    resampled = []
    for _ in range(4000):
        videos = np.concatenate([np.flatnonzero(groups == i) for i in rng.integers(0, 60, 60)])
        resampled.append(100 * difference[videos].mean())
    interval = paired_difference([first], [second], groups=groups)
    assert interval.value == pytest.approx(100 * difference.mean())
    assert interval.error == pytest.approx(np.std(resampled), rel=0.1)


def test_clusters_of_one_video_change_nothing():
    rng = np.random.default_rng(0)
    rows = [[drawn(rng, 0.6, 80) for _ in range(3)] for _ in range(2)]
    assert paired_difference(*rows, groups=rng.permutation(80)) == paired_difference(*rows)


@pytest.mark.parametrize("groups", [[0] * 20, [0] * 5 + [1] * 15])
def test_there_is_no_interval_over_one_or_two_clusters(groups):
    interval = paired_difference([np.ones(20, bool)], [np.zeros(20, bool)], groups=np.array(groups))
    assert interval.value == pytest.approx(100) and not interval.bounded and interval.sign == 0
    assert interval.above(0) == interval.below(0) == 1.0
    assert str(interval) == "+100.0, no interval"


def test_groups_of_other_videos_are_refused():
    with pytest.raises(ValueError, match="groups of 3 videos, but 2"):
        paired_difference([np.ones(2, bool)], [np.ones(2, bool)], groups=np.arange(3))


def accuracy_miss_rate(rng, right, likeness, groups, by_video=False, trials=400):
    """Return the share of intervals that miss an accuracy, if answers correlate by ``likeness`` within a cluster."""
    sizes = np.bincount(groups)
    scale = (1 - likeness) / likeness
    missed = 0
    for _ in range(trials):
        chances = rng.beta(right * scale, (1 - right) * scale, len(sizes))[groups]
        interval = accuracy_interval(rng.random(len(groups)) < chances, groups=None if by_video else groups)
        missed += not interval.low - 1e-9 <= 100 * right <= interval.high + 1e-9
    return missed / trials


@pytest.mark.parametrize("right", [0.6, 0.95])
@pytest.mark.parametrize("sizes", [(4,) * 6, (5,) * 12, (2, 3, 4, 9) * 5])
def test_an_accuracys_interval_holds_its_level_however_alike_the_videos_of_a_draw_are(sizes, right):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for likeness in (0.001, 0.5, 0.999):
        assert accuracy_miss_rate(np.random.default_rng(0), right, likeness, groups) <= 0.075
    assert accuracy_miss_rate(np.random.default_rng(0), right, 0.999, groups, by_video=True) > 0.075


def test_an_accuracys_interval_is_wilsons_where_each_video_is_a_draw():
    for right in (0, 3, 20):
        interval = accuracy_interval(np.arange(20) < right)
        expected = binomtest(right, 20).proportion_ci(0.95, method="wilson")
        assert (interval.low, interval.high) == pytest.approx((100 * expected.low, 100 * expected.high))


@pytest.mark.parametrize(
    "right", [(0, 0, 0, 0, 0, 0), (4, 4, 4, 4, 4, 4), (4, 4, 4, 4, 0, 0), (2, 2, 2, 2, 2, 2), (3, 1, 4, 2, 4, 4)]
)
def test_an_accuracys_interval_over_six_recordings_holds_that_over_their_videos(right):
    hits = np.concatenate([np.arange(4) < number for number in right])
    recordings = np.repeat(np.arange(6), 4)
    over_videos = accuracy_interval(hits)
    over_recordings = accuracy_interval(hits, groups=recordings)
    assert over_recordings.value == over_videos.value == pytest.approx(100 * hits.mean())
    assert over_recordings.low <= over_videos.low + 1e-9 and over_videos.high <= over_recordings.high + 1e-9
    assert over_recordings.high - over_recordings.low > 1.2 * (over_videos.high - over_videos.low)
    if {*right} <= {0, 4}:
        by_recording = accuracy_interval(np.array(right) > 0)
        assert over_recordings.high - over_recordings.low >= by_recording.high - by_recording.low - 1e-9
    assert not accuracy_interval(hits, groups=recordings // 3).bounded


def shown_rate(rng, difference, tests=1, trials=1000, videos=400, seeds=5, spread=2.0):
    """Return how often a true difference in points is shown at the level of the first of some tests."""
    shown = 0
    for _ in range(trials):
        first = seeds_of(rng, seed_means(rng, seeds, spread) + difference / 100, videos)
        second = seeds_of(rng, seed_means(rng, seeds, spread), videos)
        shown += paired_difference(first, second).above(0) <= 0.025 / tests
    return shown / trials


@pytest.mark.parametrize("tests", [1, 4])
def test_a_detectable_difference_is_shown_in_four_of_five_repeats(tests):
    rng = np.random.default_rng(0)
    intervals = []
    for _ in range(200):
        rows = [seeds_of(rng, seed_means(rng, 5, 2.0)) for _ in range(2)]
        intervals.append(paired_difference(*rows))
    smallest = float(np.mean([detectable(interval, tests) for interval in intervals]))
    half = float(np.mean([interval.high - interval.value for interval in intervals]))
    assert 0.76 <= shown_rate(rng, smallest, tests) <= 0.92
    if tests == 1:
        assert 0.4 <= shown_rate(rng, half) <= 0.65, "half of the interval's width is shown in about half of repeats"


def test_a_detectable_difference_is_1_43_half_widths_for_many_degrees_of_freedom():
    interval = Interval(0.0, -1.96, 1.96, 1.0)
    assert detectable(interval) / 1.96 == pytest.approx(1.43, abs=0.002)
    assert detectable(interval, tests=3) > detectable(interval)
    assert detectable(Interval(0.0, -np.inf, np.inf, np.inf)) == np.inf


def test_the_share_of_the_variance_says_whether_seeds_or_videos_are_too_few():
    rng = np.random.default_rng(0)
    apart = paired_difference(*[seeds_of(rng, [0.4, 0.6, 0.8], 5000) for _ in range(2)])
    few = paired_difference(*[seeds_of(rng, [0.6, 0.6, 0.6], 30) for _ in range(2)])
    assert apart.seeds_share > 0.9
    assert few.seeds_share < 0.5


def test_tests_of_a_spread_hold_their_level():
    rng = np.random.default_rng(0)
    chances = np.array([chances_of_spread(0.4 * rng.standard_normal(5), 0.4) for _ in range(1000)])
    assert 0.015 <= (chances <= LEVEL).mean() <= 0.035
    assert chances.sum(1) == pytest.approx(1)
    at_least, at_most = chances_of_spread([0.0, 2.0, 4.0], 2.0)
    assert (at_least, at_most) == pytest.approx((1 - np.exp(-1), np.exp(-1)))  # chi-square of two degrees of freedom


def test_pairing_narrows_the_interval_of_rows_that_fail_on_the_same_videos():
    rng = np.random.default_rng(1)
    first = drawn(rng, 0.6, 500)
    alike = first.copy()
    alike[:10] = False
    apart = rng.permutation(alike)
    near, far = paired_difference([first], [alike]), paired_difference([first], [apart])
    assert near.value == pytest.approx(far.value)
    assert near.high - near.low < 0.3 * (far.high - far.low)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("videos", [14, 40, 364])
def test_rows_that_differ_in_few_videos_are_not_certain_to_be_alike(videos, number):
    right = np.ones(videos, bool)
    other = np.arange(videos) >= number
    interval = paired_difference([right] * 3, [other] * 3)
    reach = 100 * 3.84 / (videos + 3.84)
    assert interval.high - interval.value == pytest.approx(reach, rel=0.001)
    assert interval.value - interval.low == pytest.approx(reach, rel=0.001)
    assert (interval.above(-2) <= LEVEL) == (interval.low > -2) == (videos == 364)
    assert detectable(interval) > reach


def test_rows_that_are_alike_in_few_persons_are_less_certain_than_in_as_many_videos():
    right = [np.ones(40, bool)]
    persons = paired_difference(right, right, groups=np.arange(40) % 4)
    assert persons.high == pytest.approx(100 * 3.84 / (4 + 3.84), rel=0.001)
    assert persons.high > paired_difference(right, right).high


def test_rows_tested_on_other_videos_cannot_be_paired():
    with pytest.raises(ValueError, match="tested on 5 and on 4 videos"):
        paired_difference([np.ones(5, bool)], [np.ones(4, bool)])


def test_there_is_no_tau_of_one_row_or_of_equal_rows():
    assert kendall_tau([1.0], [2.0]) is None
    assert kendall_tau([1.0, 2.0], [5.0, 5.0]) is None


def by_tests(hits, draws=None):
    """Return a comparison of rows by their hits alone, as if all had finished."""
    row_hits = RowHits(hits, draws)
    return lambda first, second: Comparison(first, second, row_hits.difference(first, second))


def test_agreement_counts_what_the_data_support_contradict_and_cannot_decide():
    rng = np.random.default_rng(4)
    # the paper: best > good > poor = tied; ours: good is far above best, poor is the worst, tied was not run
    paper = {"best": 64.0, "good": 60.0, "poor": 45.0, "tied": 45.0, "alike": 59.0, "silent": 1.0}
    hits = {
        name: [drawn(rng, rate, 600) for _ in range(3)] for name, rate in (("best", 0.7), ("good", 0.9), ("poor", 0.3))
    }
    hits["alike"] = [seed.copy() for seed in hits["best"]]
    ours = {name: 100 * float(np.mean(seeds)) for name, seeds in hits.items()} | {"silent": 10.0}
    result = agreement_of(paper, ours, row_pairs(paper, ours, by_tests(hits)))
    assert result.rows == 5
    verdicts = {(pair.first, pair.second): pair.verdict for pair in result.orderings}
    assert verdicts == {
        ("best", "good"): "contradicted",
        ("best", "poor"): "supported",
        ("best", "alike"): "undecided",
        ("good", "poor"): "supported",
        ("good", "alike"): "supported",
        ("alike", "poor"): "supported",
        **{(name, "silent"): "undecided" for name in ("best", "good", "poor", "alike")},  # no predictions
    }
    assert (result.supported, result.contradicted, result.undecided) == (4, 1, 5)


def test_orderings_are_corrected_for_their_number_because_they_are_counted():
    """Draw five rows that do not differ: in a count of ten orderings, any wrong one must be rare."""
    rng = np.random.default_rng(0)
    paper = {name: float(rank) for rank, name in enumerate("abcde")}
    wrong = 0
    for _ in range(200):
        hits = {name: seeds_of(rng, seed_means(rng, 3, 2.0), 200) for name in paper}
        ours = {name: 100 * float(np.mean(seeds)) for name, seeds in hits.items()}
        summary = agreement_of(paper, ours, row_pairs(paper, ours, by_tests(hits)))
        wrong += summary.undecided < 10
    assert wrong / 200 <= 0.06


def test_draws_of_the_test_widen_the_pairs_of_a_table():
    rng = np.random.default_rng(0)
    hits = {name: [drawn(rng, 0.6, 200) for _ in range(3)] for name in "ab"}
    ours = {"a": 60.0, "b": 60.0}
    (pair,) = row_pairs({}, ours, by_tests(hits, Draws("recording", np.repeat([0, 1], 100))))
    assert pair.difference is not None and pair.low is None and pair.high is None


def test_equal_accuracies_differ_by_zero_in_any_order_of_the_videos():
    """Order videos anew, because a CPU's instructions decide in which order a product of vectors is summed."""
    rng = np.random.default_rng(0)
    right = rng.random(997) < 0.7
    values = set()
    for _ in range(20):
        values.add(paired_difference([rng.permutation(right)], [rng.permutation(right)]).value)
    assert values == {0.0}
