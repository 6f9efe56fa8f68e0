"""Figure of ``data stats``: classes, durations, sizes, rates."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from lit_video.datamodules.inspection.summary import DatasetSummary
from lit_video.datamodules.inspection.text import rates
from lit_video.utils.figures import plt, save

NAMED = 30  # classes; of more the names do not fit


def draw(summary: DatasetSummary, path: Path) -> None:
    """Write the figure; a colour for each split."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    (classes, seconds), (sizes, fps) = axes
    counted = {name: split for name, split in summary.splits.items() if split.seconds}
    _draw_classes(summary, classes)
    seconds.hist([split.seconds for split in counted.values()], bins=30, label=list(counted))
    for name, split in counted.items():
        rows = [summary.rows[file] for file in split.files if summary.rows[file].width]
        sizes.scatter([row.width for row in rows], [row.height for row in rows], s=12, alpha=0.5, label=name)
    fps.hist([list(rates(summary, split).elements()) for split in counted.values()], bins=30, label=list(counted))
    seconds.set(xlabel="seconds", ylabel="videos")
    sizes.set(xlabel="width (pixels)", ylabel="height (pixels)", xlim=(0, None), ylim=(0, None))
    fps.set(xlabel="frames per second", ylabel="files")
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    for axis in (classes, seconds, fps):  # of whole videos
        axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(*classes.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    save(figure, path)


def _draw_classes(summary: DatasetSummary, axis: Axes) -> None:
    """Videos of every class: bars with names; of many classes a line for each split, from its largest class down."""
    names = sorted({label for split in summary.splits.values() for label in split.labels})
    if len(names) <= NAMED:
        width = 0.8 / len(summary.splits)
        for place, (split, content) in enumerate(summary.splits.items()):
            shift = (place - (len(summary.splits) - 1) / 2) * width
            counts = [content.labels[name] for name in names]
            axis.bar([i + shift for i in range(len(names))], counts, width, label=split)
        axis.set_xticks(
            range(len(names)), names, rotation=45 if len(names) > 5 else 0, ha="right" if len(names) > 5 else "center"
        )
    else:
        for split, content in summary.splits.items():
            counts = [count for _, count in content.labels.most_common()]
            axis.step(range(1, len(counts) + 1), counts, where="mid", label=split)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlabel("class, by number of videos")
    axis.set(ylabel="videos", ylim=(0, None))
