"""Floors of a table's temporal skills: what one frame, two neighbouring frames, and a sum over frames can tell."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Sequence
from dataclasses import dataclass

from lit_video.api.arguments import Files, Rows, request_for
from lit_video.errors import UserError
from lit_video.experiment.request import Run
from lit_video.settings.flags import Settings
from lit_video.utils.shown import Part, Shown, TextTable

FLOORS_HEADER = ["skill", "kind", "blind", "one frame", "two frames", "sum (bound)", "events within reach"]


@dataclass(frozen=True, repr=False)
class Floors(Shown):
    """Floors of the direction in percent, by skill."""

    steps: int  # turns of the data set's circle of time
    blind: float  # highest top-1 over all skills of models that see a set of frames, in percent
    kinds: dict[str, str]  # by skill
    two_frames: dict[str, float]  # by skill: the best guess from two neighbouring frames at a known time, if known
    sums: dict[str, float]  # by skill: a bound of any sum over frames at known times, if it is known
    within_reach: dict[str, str]  # by skill, in words: films that show both events within some frames

    def parts(self) -> Sequence[Part]:
        """Return a line for each skill."""
        body = []
        for name, kind in self.kinds.items():
            two = f"{self.two_frames[name]:.1f}" if name in self.two_frames else ""
            bound = f"{self.sums[name]:.1f}" if name in self.sums else ""
            body.append([name, kind, "50.0", "50.0", two, bound, self.within_reach[name]])
        turns = f"Direction in %, turns of {self.steps} steps"
        return [TextTable(f"{turns}; top-1 of blind models over all skills: {self.blind:.1f}", FLOORS_HEADER, body)]


def floors(
    table: Files,
    overlays: Files = (),
    rows: Rows | None = None,
    *,
    settings: Settings = (),
    recipe: str | None = None,
) -> Floors:
    """Return what can be told of a table's temporal skills with little or no comparison of frames.

    Blind: models that see a set of frames. One frame, two frames: the best guess from one frame, or two neighbouring
    ones, at a known time. Sum: a bound of any sum over frames at known times, unknown where states are continuous or
    turns long. Events within reach: how many films show both events at most so many frames apart.

    Args:
        table: name or path of a table on TemporalSkills.
        overlays: names or paths of further files, such as ``scale/twelve``.
        rows: the row whose data set is meant; ``None`` for the first one.
        settings: nested data as in a YAML file, over files and rows.
        recipe: the scale's recipe where the paper and its code disagree.

    Raises:
        UserError: the table is wrong, or not on TemporalSkills.
    """
    request = request_for(table, overlays, rows, settings=settings, recipe=recipe)
    run = Run(request, request.rows[0], request.seeds[0])
    run.refuse_early()

    from lit_video.datamodules import TemporalSkills  # here, because importing torch takes seconds
    from lit_video.experiment.spec import Spec

    data = Spec(run).build("meta").datamodule
    if not isinstance(data, TemporalSkills):
        raise UserError(f"data: {type(data).__name__} has no known floors; give a table on TemporalSkills")
    return Floors(
        steps=data.steps,
        blind=data.blind_ceiling,
        kinds={name: skill.kind for name, skill in data.skills.items()},
        two_frames=data.two_frames_ceilings(),
        sums=data.sum_ceilings(),
        within_reach={name: _within_reach(name, data.steps) for name in data.skills},
    )


def _within_reach(name: str, steps: int) -> str:
    """Say for orderN which share of films shows both events within N frames, and within T - N frames."""
    from lit_video.datamodules.films import events_apart
    from lit_video.datamodules.floors import share_in_reach

    apart = events_apart(name)
    if apart is None:
        return ""
    near = share_in_reach(apart, steps, apart)
    return f"{near:.0%} within {apart}, all within {steps - apart}"
