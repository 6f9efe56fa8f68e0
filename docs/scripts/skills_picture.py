"""Draw docs/skills.svg, direction of schemes beside their controls, and docs/skills_by_skill.svg, from packed runs.

python docs/scripts/skills_picture.py
"""

import os
from collections.abc import Mapping

os.environ["MPLBACKEND"] = "agg"

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from skills_runs import (
    CONTROLS,
    LENGTHS,
    ROOT,
    above_control,
    decides_nothing,
    hits_of_skill,
    labels,
    metric_of,
    runs_at,
    skills_data,
)
from written_page import write_picture

from lit_video.runs.predictions import DIRECTION
from lit_video.tables.summary import TableRuns
from lit_video.utils.colours import LIGHT

CHANCE = 50.0
FULL = 50.0  # points above a control that have the full colour
OFFSETS = {"1x": -0.16, "4x": 0.16}  # lines of the two lengths, apart from a scheme's own
COLOURS = {"1x": LIGHT["s7"], "4x": LIGHT["s0"]}


def draw_directions(at: Mapping[str, TableRuns]) -> Figure:
    """Draw a line for each scheme and length, from its control's direction to its own."""
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.axvline(CHANCE, color=LIGHT["rule"], linewidth=1)
    for length, runs in at.items():
        for line, row in enumerate(CONTROLS):
            draw_scheme(axes, runs, row, height=line + OFFSETS[length], colour=COLOURS[length])

    names = labels(next(iter(at.values())))
    axes.set(yticks=range(len(CONTROLS)), yticklabels=[names[row] for row in CONTROLS], xlim=(45, 100))
    axes.set_xlabel("direction, % of the test videos (50: chance, any single frame, and models blind to order)")
    axes.invert_yaxis()
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(handles=key(at), loc="outside lower center", ncols=3, frameon=False)
    return figure


def draw_scheme(axes: Axes, runs: TableRuns, row: str, *, height: float, colour: str) -> None:
    """Draw a scheme's direction with its interval, and a tick at its control."""
    control = metric_of(runs, CONTROLS[row], DIRECTION)
    found = above_control(runs.row_hits, row)
    if control is None or found is None:
        return

    own = control + found.value
    axes.plot([control, own], [height, height], color=colour, linewidth=2)
    axes.plot([control], [height], marker="|", markersize=11, markeredgewidth=2, color=colour)
    if found.bounded:
        axes.plot([control + found.low, control + found.high], [height, height], color=colour, linewidth=6, alpha=0.3)
    filled = "none" if decides_nothing(runs, row) else colour
    axes.plot([own], [height], marker="o", markersize=7, color=colour, markerfacecolor=filled)


def key(at: Mapping[str, TableRuns]) -> list[Line2D]:
    """Explain colours and markers."""
    lengths = [Line2D([], [], color=COLOURS[name], linewidth=2, label=length_of(runs)) for name, runs in at.items()]
    return [
        *lengths,
        in_key("|", "its control, without attention between frames", size=11),
        in_key("o", "the scheme"),
        in_key("o", "not yet learned: decides nothing", face="none"),
        Line2D([], [], color=LIGHT["ink"], linewidth=6, alpha=0.3, label="95 % interval of the difference"),
    ]


def in_key(marker: str, label: str, *, size: int = 7, face: str = LIGHT["ink"]) -> Line2D:
    """Return an entry of the key that is a marker without a line."""
    return Line2D(
        [],
        [],
        color=LIGHT["ink"],
        linestyle="",
        marker=marker,
        markersize=size,
        markerfacecolor=face,
        label=label,
    )


def length_of(runs: TableRuns) -> str:
    """Say how long and how often the rows were trained."""
    steps = max(run.result.steps for run in runs.finished)
    seeds = max(len(of_row) for of_row in runs.by_row.values())
    return f"{steps:,} steps, {seeds} seed{'s' if seeds > 1 else ''}"


def draw_skills(at: Mapping[str, TableRuns]) -> Figure:
    """Draw the points that each scheme has above its control, by skill, for each length."""
    opposites = skills_data().opposites
    figure = Figure(figsize=(11, 5.4), layout="constrained")
    for axes, runs in zip(figure.subplots(1, len(at), sharey=True), at.values(), strict=True):
        for line, classes in enumerate(opposites.values()):
            hits = hits_of_skill(runs, classes)
            for column, row in enumerate(CONTROLS):
                found = above_control(hits, row)
                if found is not None:
                    draw_cell(axes, (column, line), found.value, faint=decides_nothing(runs, row))

        names = [labels(runs)[row] for row in CONTROLS]
        axes.set(xlim=(-0.5, len(CONTROLS) - 0.5), ylim=(len(opposites) - 0.5, -0.5), title=length_of(runs))
        axes.set_xticks(range(len(CONTROLS)), names, rotation=35, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(opposites)), list(opposites))
        axes.tick_params(length=0, labelbottom=False, labeltop=True)
        axes.spines[:].set_visible(False)
    figure.supxlabel("points of direction above the scheme's own control; grey numbers: not yet learned", fontsize=11)
    return figure


def draw_cell(axes: Axes, place: tuple[int, int], points: float, *, faint: bool) -> None:
    """Draw a square with its number, the stronger the more points."""
    column, line = place
    colour = LIGHT["s0"] if points > 0 else LIGHT["s1"]
    strength = min(1.0, abs(points) / FULL) * 0.75
    corner = (column - 0.46, line - 0.44)
    axes.add_patch(Rectangle(corner, 0.92, 0.88, facecolor=colour, alpha=strength, linewidth=0))
    axes.text(
        column,
        line,
        f"{round(points):+d}" if round(points) else "0",
        ha="center",
        va="center",
        color=LIGHT["quiet"] if faint else LIGHT["ink"],
        fontsize=9,
    )


def main() -> None:
    """Write both pictures."""
    at = {length: runs_at(scales) for length, scales in LENGTHS.items()}
    write_picture(ROOT / "docs/skills.svg", draw_directions(at))
    write_picture(ROOT / "docs/skills_by_skill.svg", draw_skills(at))


if __name__ == "__main__":
    main()
