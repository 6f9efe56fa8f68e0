"""Test what is said of a model's use of time: the right thing where videos show it, and nothing where they do not."""

from itertools import product
from math import factorial

import numpy as np
import pytest

from lit_video.errors import UserError
from lit_video.runs.predictions import Draws, Predictions, TaskPredictions
from lit_video.tables.statistics import cautious_difference
from lit_video.tables.time_use import MATTERS, time_use

CLASSES = ["sit down", "stand up", "wave"]
OPPOSITE = np.array([1, 0, 2])


def predictions(predicted, target, draws=None, video=None):
    """Return predictions by class numbers."""
    right = predicted == target
    task = TaskPredictions(predicted, (~right).astype(int), np.ones(len(target)), target, CLASSES)
    return Predictions(np.arange(len(target)) if video is None else video, {"": task}, draws)


def use_of(videos, draws=None, **orders):
    """Return the use of time of a model that is always right with the frames as they are.

    ``orders`` maps the classes that it sees to those that it predicts with the frames in another order.
    """
    target = np.arange(videos) % len(CLASSES)
    changed = {name: [predictions(np.asarray(taken)[target], target)] for name, taken in orders.items()}
    return time_use([predictions(target, target, draws)], changed)


def test_direction_decides_where_reversed_classes_are_taken_for_each_other():
    use = use_of(120, reversed=OPPOSITE, shuffled=[0, 0, 2], static=[0, 0, 2])
    assert use.uses == "direction"
    loss = use.orders["reversed"].loss
    assert loss.value == pytest.approx(200 / 3) and 0 < loss.low < loss.value < loss.high
    first, second, third = use.orders["reversed"].classes
    assert {(first.name, first.taken_for), (second.name, second.taken_for)} == {
        ("sit down", "stand up"),
        ("stand up", "sit down"),
    }
    assert (third.name, third.lost) == ("wave", 0)
    said = " ".join(use.sentences)
    assert "sit down" in said and "stand up" in said and "wave" not in said and "33.3 %" in said


def test_single_frames_are_enough_where_one_repeated_frame_costs_nothing():
    same = [0, 1, 2]
    use = use_of(120, reversed=same, shuffled=same, static=same)
    assert (use.uses, use.decisive) == ("one frame", None)
    assert {test.answer for test in use.orders.values()} == {"kept"}
    assert use_of(120, reversed=same, shuffled=same, static=[0, 0, 0]).uses == "frames"
    assert use_of(120, reversed=same, shuffled=[1, 2, 0], static=[1, 2, 0]).uses == "order"
    assert use_of(120, shuffled=same).uses == "no order"


@pytest.mark.parametrize("videos", [6, 14, 60])
def test_few_videos_without_a_loss_do_not_show_that_there_is_none(videos):
    same = [0, 1, 2]
    use = use_of(videos, reversed=same, shuffled=same, static=same)
    assert use.uses == "open" and str(videos) in use.sentences[0]
    assert all(test.loss.high > MATTERS for test in use.orders.values())


def test_a_model_that_is_no_better_than_one_answer_uses_nothing_that_could_be_told():
    target = np.arange(120) % 2
    always = predictions(np.zeros(120, int), target)
    use = time_use([always], {"reversed": [always], "shuffled": [always], "static": [always]})
    assert use.uses == "weak" and use.decisive is None and len(use.sentences) == 1


def test_videos_of_few_persons_tell_of_these_persons_alone():
    same = [0, 1, 2]
    for persons, alone in ((2, True), (13, True), (120, False)):
        use = use_of(120, Draws("person", np.arange(120) % persons), reversed=OPPOSITE, shuffled=same)
        assert use.orders["shuffled"].answer == "kept"
        assert use.orders["shuffled"].is_for_these == alone
    assert use.uses == "direction"
    few = use_of(120, Draws("person", np.arange(120) % 2), shuffled=same)
    assert all("2 persons" in sentence for sentence in few.sentences)


def test_losses_of_recordings_of_near_equal_clips_count_recordings():
    """Six recordings of four clips: a loss in one of them is no loss of four videos."""
    target = np.arange(24) // 4 % 3
    lost = np.where(np.arange(24) < 8, OPPOSITE[target], target)
    losses = {}
    for kind, draws in {"video": None, "recording": Draws("recording", np.arange(24) // 4)}.items():
        use = time_use([predictions(target, target, draws)], {"reversed": [predictions(lost, target)]})
        test = use.orders["reversed"]
        losses[kind] = test.on_others or test.loss
        assert (
            f"{test.on_others.low:.0f} to {test.on_others.high:.0f}" in use.sentences[1]
            if draws
            else not test.on_others
        )
        assert f"{24 if draws is None else 6} {kind}s" in use.sentences[1]
    wider = losses["recording"].high - losses["recording"].low
    assert wider > 1.5 * (losses["video"].high - losses["video"].low)


def test_what_neither_draws_nor_their_videos_tell_has_the_interval_over_draws():
    same = [0, 1, 2]
    use = use_of(24, Draws("group", np.arange(24) // 4), reversed=same, shuffled=same, static=same)
    assert use.uses == "open" and not any(test.is_for_these for test in use.orders.values())
    assert use.orders["static"].loss.high > use_of(24, static=same).orders["static"].loss.high
    alone = use_of(24, Draws("group", np.zeros(24, int)), static=same)
    assert all(test.is_for_these for test in alone.orders.values()) and "this group" in alone.sentences[1]


@pytest.mark.parametrize(
    ("reached", "said"), [(0.5, "better by 50"), (1.0, "between 3 points worse and 3"), (0.7, "better by 30")]
)
def test_a_head_on_single_frames_stands_beside_the_model(reached, said):
    target = np.arange(120) % 3
    forward = predictions(target, target)
    head = predictions(np.where(np.arange(120) < 120 * reached, target, (target + 1) % 3), target)
    use = time_use([forward], {"static": [forward]}, [head])
    right = 100 * float(head.hits().mean())
    assert use.head.accuracy.value == pytest.approx(right) and use.head.lead.value == pytest.approx(100 - right)
    assert use.head.accuracy.low < right < use.head.accuracy.high + 1e-6
    (line,) = [sentence for sentence in use.sentences if "single frames of this model" in sentence]
    assert f"{right:.1f} %" in line and said in line and "120 videos" in line
    assert time_use([forward], {"static": [forward]}).head is None


def test_a_head_may_be_better_than_a_model_that_is_of_no_use():
    target = np.arange(120) % 2
    always = predictions(np.zeros(120, int), target)
    use = time_use([always], {"static": [always]}, [predictions(target, target)])
    assert use.uses == "weak" and use.head.lead.high < 0
    assert "100.0 %" in use.sentences[-1] and "worse by 50" in use.sentences[-1]


def test_a_head_on_videos_of_few_persons_is_for_these_persons():
    target = np.arange(120) % 3
    forward = predictions(target, target, Draws("person", np.arange(120) % 2))
    use = time_use([forward], {"static": [forward]}, [predictions(OPPOSITE[target], target)])
    assert use.head.on_others is not None and "2 persons" in use.sentences[-1]
    other = predictions(target, (target + 1) % 3)
    with pytest.raises(UserError, match="one_frame"):
        time_use([forward], {"static": [forward]}, [other])


def test_tests_are_paired_by_video_and_by_label():
    target = np.arange(90) % 3
    order = np.random.default_rng(0).permutation(90)
    forward = predictions(target, target)
    mixed = predictions(OPPOSITE[target[order]], target[order], video=order)
    assert time_use([forward], {"reversed": [mixed]}).orders["reversed"].loss.value == pytest.approx(200 / 3)
    fewer = predictions(target[:60], target[:60])  # the others could not be read
    assert time_use([forward], {"reversed": [fewer]}).videos == 60
    other = predictions(target, (target + 1) % 3)
    with pytest.raises(UserError, match="reversed"):
        time_use([forward], {"reversed": [other]})


def test_of_several_tasks_a_video_is_right_in_all_and_classes_are_named_with_their_task():
    target = np.arange(90) % 3
    right, wrong = (predictions(taken, target).tasks[""] for taken in (target, OPPOSITE[target]))
    numbers = np.arange(90)
    forward = Predictions(numbers, {"verb": right, "noun": right})
    changed = Predictions(numbers, {"verb": wrong, "noun": right})
    test = time_use([forward], {"reversed": [changed]}).orders["reversed"]
    assert test.accuracy == pytest.approx(100 / 3)
    assert {each.name for each in test.classes if each.lost} == {"verb: sit down", "verb: stand up"}


def test_with_several_seeds_losses_are_means_and_seeds_widen_the_interval():
    target = np.arange(120) % 3
    forward = predictions(target, target)
    lost = predictions(OPPOSITE[target], target)
    once = time_use([forward], {"reversed": [lost]}).orders["reversed"]
    both = time_use([forward, forward], {"reversed": [lost, forward]}).orders["reversed"]
    assert both.loss.value == pytest.approx(once.loss.value / 2)
    assert both.loss.high - both.loss.low > once.loss.high - once.loss.low
    assert both.classes[0].changed == pytest.approx(50)


@pytest.mark.parametrize(
    ("lost", "gained"), [(0.0, 0.0), (0.05, 0.0), (0.02, 0.02), (0.3, 0.05), (0.2, 0.2), (0.95, 0)]
)
def test_the_interval_holds_its_level_for_few_videos(lost, gained):
    """Sum the chance of every outcome of 20 videos whose interval misses the true difference."""
    videos = 20
    missed = {"below": 0.0, "above": 0.0}
    for first, second in product(range(videos + 1), repeat=2):
        same = videos - first - second
        if same < 0:
            continue
        ways = factorial(videos) / (factorial(first) * factorial(second) * factorial(same))
        chance = ways * lost**first * gained**second * (1 - lost - gained) ** same
        if not chance:
            continue
        right = np.arange(videos) < videos - second
        other = (np.arange(videos) >= first) & right | ~right
        interval = cautious_difference([right], [other])
        assert interval.value == pytest.approx(100 * (first - second) / videos)
        true = 100 * (lost - gained)
        missed["below"] += chance * (true < interval.low - 1e-9)
        missed["above"] += chance * (true > interval.high + 1e-9)
    assert max(missed.values()) <= 0.05
    assert sum(missed.values()) <= 0.06
