"""Use of time by a trained model: what it loses when frames are reversed or shuffled, or one frame is repeated.

All orders are tested on the same videos, so each loss is a paired difference, with an interval over draws. The
sentences claim no more than the intervals show. Beside them stands a linear head on single frames of the model. It
tells how far single frames go if they are learned: the model itself never saw a clip of one repeated frame.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lit_video.errors import UserError
from lit_video.runs.folder import FinishedRun
from lit_video.runs.predictions import (
    ONE_FRAME,
    ORDERS,
    Predictions,
    file_of_further,
    read_further,
    read_predictions,
)
from lit_video.tables.statistics import FEWEST_CLUSTERS, Hits, Interval, cautious_difference, paired_difference
from lit_video.utils.text import plural, these

FRAME_ORDERS = {
    "reversed": "reversed frames",
    "shuffled": "shuffled frames",
    "static": "one repeated frame",
}  # by order
MATTERS = 5.0  # points; a smaller loss counts as none
CLASSES_NAMED = 2  # classes named in a sentence

# By the interval of the loss:
# lost: it is certainly above 0, and may reach MATTERS
# kept: it is certainly below MATTERS
# open: neither is certain
Answer = Literal["lost", "kept", "open"]
# The most that the model is known to use:
# direction: whether time runs forwards
# order: some order of the frames
# frames: several frames, in any order
# no order: no order, and whether it needs more than one frame is unknown
# one frame: a single frame
# weak: nothing, because it may be no better than the same answer for all videos
# open: unknown, because the test has too few videos
Use = Literal["direction", "order", "frames", "no order", "one frame", "weak", "open"]

_CONCLUSIONS: dict[Use, str] = {
    "direction": "Yes, the direction of time decides",
    "order": "Yes, the order of the frames counts",
    "frames": "In part: it uses several frames, in any order",
    "no order": "The order of its frames does not; whether one frame is enough cannot be told",
    "one frame": "No, it tells classes by single frames",
    "weak": "This cannot be told, because the model is not better for certain than one answer for all videos",
    "open": "This cannot be told",
}
_DECIDED_BY: dict[Use, str] = {
    "direction": "reversed",
    "order": "shuffled",
    "frames": "shuffled",
    "no order": "shuffled",
    "one frame": "static",
}


@dataclass(frozen=True)
class ClassLoss:
    """Accuracy of a class in percent, with the frames as they are and in another order; means over seeds."""

    name: str  # name of the class, after that of its task if there are several
    videos: int
    forward: float
    changed: float
    taken_for: str  # most frequent wrong class with the frames in the other order; empty if there is none

    @property
    def lost(self) -> float:
        """Number of videos lost."""
        return self.videos * (self.forward - self.changed) / 100

    @property
    def text(self) -> str:
        """The class with its accuracies, and what it is taken for, in words."""
        taken = f", taken for {self.taken_for}" if self.taken_for else ""
        percent = f"from {self.forward:.0f} to {self.changed:.0f} % of {plural(self.videos, 'video')}"
        return f"{self.name} ({percent}{taken})"


@dataclass(frozen=True)
class OrderTest:
    """Test with the frames in another order, beside the test with the frames as they are."""

    order: str
    accuracy: float  # percent
    loss: Interval  # points
    # interval for other draws, such as other persons, if that of the loss holds only for the videos of these draws; it
    # has no bounds for fewer than three draws
    on_others: Interval | None
    classes: Sequence[ClassLoss]  # largest loss first

    @property
    def is_for_these(self) -> bool:
        """True if the loss holds only for videos of these draws, because they are too few to tell about others."""
        return self.on_others is not None

    @property
    def answer(self) -> Answer:
        """Whether the order costs accuracy."""
        return _answer(self.loss)


@dataclass(frozen=True)
class HeadTest:
    """Test of a linear head on single frames of a model, beside the test of the model."""

    accuracy: Interval  # percent
    lead: Interval  # points by which the model is better than the head
    on_others: Interval | None  # interval of the lead over draws, as in :class:`OrderTest`


@dataclass(frozen=True)
class TimeUse:
    """Use of time by a model, from its tests with frames in other orders."""

    accuracy: float  # percent, with the frames as they are
    is_better: bool  # better for certain than the most frequent class for all videos
    videos: int
    draws: str  # draws of the test in words, such as "13 persons"
    these: str  # draws after a pronoun: "these 13 persons" in "on videos of these 13 persons"
    orders: Mapping[str, OrderTest]
    head: HeadTest | None = None  # a head on single frames; None if it was left out

    @property
    def uses(self) -> Use:
        """The most that the model is known to use, in a word."""
        answers = {name: test.answer for name, test in self.orders.items()}
        if not self.is_better:
            return "weak"
        if answers.get("reversed") == "lost":
            return "direction"
        if answers.get("shuffled") == "lost":
            return "order"
        if answers.get("static") == "kept":
            return "one frame"
        if answers.get("shuffled") == "kept":
            return "frames" if answers.get("static") == "lost" else "no order"
        return "open"

    @property
    def sentences(self) -> list[str]:
        """Use of time, cost of each order, and the classes that lose most, in words."""
        conclusion = _CONCLUSIONS[self.uses]
        if self.uses == "order" and "reversed" in self.orders:
            kept = self.orders["reversed"].answer == "kept"
            conclusion += ", but not its direction" if kept else "; whether its direction does cannot be told"
        if self.uses == "open":
            conclusion += f" from {self.draws}"
        deciding = self.orders.get(_DECIDED_BY.get(self.uses, ""))
        if deciding and deciding.is_for_these:
            conclusion += f", on videos of {self.these}"

        lines = [f"Does time matter to this model? {conclusion}."]
        of_head = [self._reached(self.head)] if self.head else []
        if self.uses == "weak":
            return [*lines, *of_head]

        costs = "; ".join(self._cost(test) for test in self.orders.values())
        line = f"With the frames as they are {self.accuracy:.1f} % are right; {costs}"
        if not all(test.is_for_these for test in self.orders.values()):
            line += f"; 95 % intervals over {self.draws}"
        lines += [line, *of_head]
        decisive = self.decisive
        if decisive:
            lost = [loss.text for loss in decisive.classes[:CLASSES_NAMED] if loss.lost > 0]
            lines.append(f"Most lost with {FRAME_ORDERS[decisive.order]}: {'; '.join(lost)}")
        return lines

    @property
    def decisive(self) -> OrderTest | None:
        """First test with a certain loss, in the order reversed, shuffled, static; ``None`` without one."""
        if self.uses == "weak":
            return None
        return next((test for test in self.orders.values() if test.answer == "lost"), None)

    def _reached(self, head: HeadTest) -> str:
        """Say how far a head on single frames goes, and how much better the model is, with the interval in points."""
        reached = head.accuracy
        lead = head.lead
        line = f"A linear head on single frames of this model reaches {reached.value:.1f} %"
        line += f", {max(reached.low, 0):.0f} to {min(reached.high, 100):.0f}"

        if lead.low > 0:
            line += f"; the model is better by {lead.value:z.0f} points, {lead.low:z.0f} to {lead.high:z.0f}"
        elif lead.high < 0:
            line += f"; the model is worse by {-lead.value:z.0f} points, {-lead.high:z.0f} to {-lead.low:z.0f}"
        else:
            line += f"; the model is {_lead_in_words(lead)}"

        if head.on_others is None:
            return f"{line}; 95 % intervals over {self.draws}"
        line += f"; 95 % intervals for videos of {self.these}"
        if head.on_others.bounded:
            line += f"; on others the model is {_lead_in_words(head.on_others)}"
        return line

    def _cost(self, test: OrderTest) -> str:
        """Say what an order costs, with the interval of the loss in points."""
        loss = test.loss
        costs: dict[Answer, str] = {
            "lost": f"{loss.value:z.0f} points lost, {loss.low:z.0f} to {loss.high:z.0f}",
            "kept": f"costs nothing: less than {max(ceil(loss.high), 1)} points",
            "open": f"no loss and one of {loss.high:z.0f} points are both possible",
        }
        cost = costs[test.answer]
        if test.on_others:
            cost += f", on videos of {self.these}"
            if test.on_others.bounded:
                cost += f"; on others {test.on_others.low:z.0f} to {test.on_others.high:z.0f}"
        return f"with {FRAME_ORDERS[test.order]} {test.accuracy:.1f} % ({cost})"


def _lead_in_words(lead: Interval) -> str:
    """Say by how many points a model is better or worse, from the interval of its lead."""
    if lead.low > 0:
        return f"better by {lead.low:z.0f} to {lead.high:z.0f} points"
    if lead.high < 0:
        return f"worse by {-lead.high:z.0f} to {-lead.low:z.0f} points"
    return f"between {-lead.low:z.0f} points worse and {lead.high:z.0f} points better"


def time_use(
    forward: Sequence[Predictions], changed: Mapping[str, Sequence[Predictions]], head: Sequence[Predictions] = ()
) -> TimeUse | None:
    """Compare tests of the same videos with their frames in other orders.

    Args:
        forward: predictions with the frames as they are, by seed.
        changed: predictions with the frames in other orders, by order and seed; only ``ORDERS`` are used.
        head: predictions of a head on single frames, by seed; empty if it was left out.

    Returns:
        Use of time; ``None`` without another order, or without a video that is in all tests.
    """
    tests = {order: changed[order] for order in ORDERS if changed.get(order)}
    all_tests = [predictions for seeds in (forward, *tests.values(), head) for predictions in seeds]
    videos = reduce(np.intersect1d, [predictions.video for predictions in all_tests])
    if not tests or not len(videos):
        return None

    straight = [predictions.of(videos) for predictions in forward]
    first = straight[0]
    groups = first.draws.number if first.draws else None
    count = len(videos)
    noun = "video"
    if first.draws:
        count = first.draws.count
        noun = first.draws.kind

    hits = [predictions.hits() for predictions in straight]
    always_the_most_frequent = [task.target == task.videos.argmax() for task in first.tasks.values()]
    better, _ = _difference(hits, [np.all(always_the_most_frequent, axis=0)], groups)
    orders = {}
    for order, seeds in tests.items():
        changed_tests = [predictions.of(videos) for predictions in seeds]
        _refuse_other_labels(first, changed_tests, order)
        changed_hits = [predictions.hits() for predictions in changed_tests]
        loss, on_others = _difference(hits, changed_hits, groups)
        classes = _class_losses(straight, changed_tests)
        orders[order] = OrderTest(order, _accuracy(changed_hits), loss, on_others, classes)

    of_head = None
    if head:
        heads = [predictions.of(videos) for predictions in head]
        _refuse_other_labels(first, heads, ONE_FRAME)
        head_hits = [predictions.hits() for predictions in heads]
        lead, on_others = _difference(hits, head_hits, groups)
        of_no_video = [np.zeros(len(videos), bool)]
        reached = cautious_difference(head_hits, of_no_video, groups=groups if on_others is None else None)
        of_head = HeadTest(reached, lead, on_others)

    return TimeUse(
        accuracy=_accuracy(hits),
        is_better=better.low > 0,
        videos=len(videos),
        draws=plural(count, noun),
        these=these(count, noun),
        orders=orders,
        head=of_head,
    )


def read_time_use(runs: Sequence[FinishedRun]) -> TimeUse | None:
    """Read what the model of a row uses of time, from its runs by seed; ``None`` without predictions of other orders.

    Raises:
        UserError: a file of predictions is damaged, or belongs to another test.
    """
    changed = {order: _of_all_seeds(runs, order) for order in ORDERS}
    if not any(changed.values()):
        return None

    forward = [read_predictions(run.folder, run.result) for run in runs]
    kept = [predictions for predictions in forward if predictions]
    return time_use(kept, changed, _of_all_seeds(runs, ONE_FRAME)) if len(kept) == len(runs) else None


def _of_all_seeds(runs: Sequence[FinishedRun], test: str) -> list[Predictions]:
    """Return the predictions of a further test by seed; none unless all seeds have them."""
    seeds = [read_further(run.folder, run.result, test) for run in runs]
    kept = [predictions for predictions in seeds if predictions]
    return kept if len(kept) == len(runs) else []


def _accuracy(hits: Hits) -> float:
    """Return the accuracy in percent, the mean over seeds."""
    return 100 * float(np.mean([of_seed.mean() for of_seed in hits]))


def _answer(loss: Interval) -> Answer:
    if loss.high < MATTERS:
        return "kept"
    return "lost" if loss.low > 0 else "open"


def _difference(first: Hits, second: Hits, groups: NDArray[np.integer] | None) -> tuple[Interval, Interval | None]:
    """Return a difference with its interval, and a second interval for other draws if the first does not hold there.

    In general the interval is over draws, and there is no second one. But few persons tell little about others, while
    their many videos may still tell what the model uses on them. In that case the first interval is over videos and
    holds for these persons only; the second is over draws.
    """
    over_videos = cautious_difference(first, second)
    if groups is None:
        return over_videos, None
    if len(np.unique(groups)) < FEWEST_CLUSTERS:
        return over_videos, paired_difference(first, second, groups=groups)
    over_draws = cautious_difference(first, second, groups=groups)
    says_more = _answer(over_draws) == "open" and _answer(over_videos) != "open"
    return (over_videos, over_draws) if says_more else (over_draws, None)


def _refuse_other_labels(first: Predictions, others: Sequence[Predictions], order: str) -> None:
    for other in others:
        for name, task in first.tasks.items():
            if name not in other.tasks or not np.array_equal(other.tasks[name].target, task.target):
                raise UserError(f"{file_of_further(order)}: other labels than the test's; test again")


def _class_losses(forward: Sequence[Predictions], changed: Sequence[Predictions]) -> list[ClassLoss]:
    """Return the losses of all tested classes, the largest number of lost videos first."""
    losses = []
    for task, straight in forward[0].tasks.items():
        before = np.mean([predictions.tasks[task].class_accuracy() for predictions in forward], axis=0)
        after = np.mean([predictions.tasks[task].class_accuracy() for predictions in changed], axis=0)
        confusion = np.sum([predictions.tasks[task].confusion for predictions in changed], axis=0)
        np.fill_diagonal(confusion, 0)
        for number in np.flatnonzero(straight.videos).tolist():
            other = straight.classes[int(confusion[number].argmax())] if confusion[number].any() else ""
            name = ": ".join(filter(None, (task, straight.classes[number])))
            videos = int(straight.videos[number])
            losses.append(ClassLoss(name, videos, float(before[number]), float(after[number]), other))
    return sorted(losses, key=lambda loss: -loss.lost)
