"""Figure of ``data stats``: classes, durations, sizes, rates."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from lit_video.datamodules.inspection.summary import DatasetSummary
from lit_video.datamodules.inspection.text import rates
from lit_video.utils.figures import plt, save, short

NAMED = 30  # bars with names; of more the names do not fit
LEVEL = 80  # letters that fit side by side, else names are turned
LETTERS = 24  # of a turned name
BINS = 30  # of durations at most

Counts = Mapping[str, Counter[str]]  # by split


def draw(summary: DatasetSummary, path: Path) -> None:
    """Write the figure; a colour for each split."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    (classes, seconds), (sizes, fps) = axes
    splits = summary.splits
    draw_counts(classes, {name: split.labels for name, split in splits.items()}, "class")
    of_rate = {name: rates(summary, split) for name, split in splits.items()}
    in_order = [f"{rate:g}" for rate in sorted(set[float]().union(*of_rate.values()))]
    named = {name: Counter({f"{rate:g}": n for rate, n in each.items()}) for name, each in of_rate.items()}
    draw_counts(fps, named, "frame rate", in_order)
    of_size = {name: summary.sizes(split) for name, split in splits.items()}
    draw_counts(sizes, of_size, "size", sorted(set[str]().union(*of_size.values()), key=_pixels))
    counted = {name: split.seconds for name, split in splits.items() if split.seconds}
    bins = min(BINS, max(5, round(sum(map(len, counted.values())) ** 0.5)))
    seconds.hist([*counted.values()], bins=bins, color=[f"C{[*splits].index(name)}" for name in counted])
    seconds.set(xlabel="seconds", ylabel="videos")
    classes.set_ylabel("videos")
    sizes.set(xlabel=f"width x height (pixels){_by_number(of_size)}", ylabel="files")
    fps.set(xlabel=f"frames per second{_by_number(named)}", ylabel="files")
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        axis.set_axisbelow(True)
        axis.yaxis.set_major_locator(MaxNLocator(integer=True))  # of whole videos
    figure.legend(*classes.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    save(figure, path)


def draw_counts(axis: Axes, counts: Counts, what: str, names: Sequence[str] | None = None) -> None:
    """How many there are of each: bars with names; of many names a line for each split, from its most common down."""
    names = sorted(set[str]().union(*counts.values())) if names is None else names
    if len(names) > NAMED:
        for split, count in counts.items():
            numbers = [number for _, number in count.most_common()]
            axis.step(range(1, len(numbers) + 1), numbers, where="mid", label=split)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlim(1, len(names))
        axis.set_xlabel(f"{what}, by number of videos")
    else:
        width = 0.8 / len(counts)
        for place, (split, count) in enumerate(counts.items()):
            shift = (place - (len(counts) - 1) / 2) * width
            axis.bar([i + shift for i in range(len(names))], [count[name] for name in names], width, label=split)
        turned = sum(len(name) + 2 for name in names) > LEVEL
        shown = [short(name, LETTERS) for name in names] if turned else names
        turn: dict[str, Any] = dict(rotation=45, ha="right", rotation_mode="anchor", fontsize=8) if turned else {}
        axis.set_xticks(range(len(names)), shown, **turn)
    axis.set_ylim(0, None)


def _by_number(counts: Counts) -> str:
    """What else the label of an axis without names says."""
    return ", by number of files" if len(set[str]().union(*counts.values())) > NAMED else ""


def _pixels(size: str) -> tuple[int, str]:
    width, _, height = size.partition("x")
    return int(width) * int(height), size
