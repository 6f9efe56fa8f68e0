"""Limits of what a row can see, by its construction: how its layers connect frames, and which frames it is shown."""

from dataclasses import astuple, dataclass

from lit_video.runs.result import RunResult

NEARNESS = 0.5  # for a model that sees which frames are neighbours, but not which of two comes first


@dataclass(frozen=True)
class Limits:
    """How much of what the task needs a row can see: shares from 0, nothing, to 1, all; 1 where it is not known."""

    order: float = 1.0  # 0 if the scores are equal for all orders of the frames, NEARNESS if only for the reversed one
    steps: float = 1.0  # share of a video's steps that one clip of the test shows
    reach: float = 1.0  # largest distance of frames that the scheme compares, divided by the one that the task needs

    @classmethod
    def of(cls, result: RunResult) -> "Limits":
        """Return the limits that a result records: ``sees_order``, ``sees_near``, ``steps_shown``, ``needed_reach``.

        The order matters only for a data set that needs it, so that a model blind to the order cannot be better than
        ``blind_ceiling``.
        """
        order = 1.0
        if result.sees_order is False and result.blind_ceiling is not None:
            order = NEARNESS if result.sees_near else 0.0

        steps = 1.0 if result.steps_shown is None else result.steps_shown

        reach = 1.0
        if result.needed_reach and result.reach is not None:
            reach = min(1.0, result.reach / result.needed_reach)
        return cls(order, steps, reach)

    @property
    def any(self) -> bool:
        """True if the row cannot see everything that the task needs."""
        return min(astuple(self)) < 1

    def less_than(self, other: "Limits") -> bool:
        """Return whether the row sees less of something that the task needs than another row does."""
        return any(own < others for own, others in zip(astuple(self), astuple(other), strict=True))
