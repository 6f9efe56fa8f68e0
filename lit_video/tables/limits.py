"""Limits by construction of what a row can see: its layers, and the frames that it is shown."""

from dataclasses import astuple, dataclass

from lit_video.runs.result import RunResult

NEARNESS = 0.5  # share of a row that sees which frames are neighbours, but not which come first


@dataclass(frozen=True)
class Limits:
    """Shares, 0 to 1, of what the task needs and a row can see; 1 as long as nothing else is known."""

    order: float = 1.0  # order of the frames: 0 if no order changes the scores, NEARNESS if a reversal does not
    steps: float = 1.0  # steps of a video that one clip of the test shows
    reach: float = 1.0  # largest distance of frames that the scheme compares, of the distance that the task needs

    @classmethod
    def of(cls, result: RunResult) -> "Limits":
        """Return the limits that a result records: ``sees_order``, ``sees_near``, ``steps_shown``, ``needed_reach``.

        Order counts only on a data set that caps the accuracy of rows that are blind to it (``blind_ceiling``).
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
