"""Figure of ``data stats``: classes, durations, sizes, rates."""

from pathlib import Path

from lit_video.datamodules.inspection.summary import DatasetSummary
from lit_video.datamodules.inspection.text import rates
from lit_video.utils.figures import plt, save


def draw(summary: DatasetSummary, path: Path) -> None:
    """Write the figure; a colour for each split."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    (classes, seconds), (sizes, fps) = axes
    counted = {name: split for name, split in summary.splits.items() if split.seconds}
    for name, split in summary.splits.items():
        counts = [count for _, count in split.labels.most_common()]
        classes.step(range(1, len(counts) + 1), counts, where="mid", label=name)
    seconds.hist([split.seconds for split in counted.values()], bins=30, label=list(counted))
    for name, split in counted.items():
        rows = [summary.rows[file] for file in split.files if summary.rows[file].width]
        sizes.scatter([row.width for row in rows], [row.height for row in rows], s=12, alpha=0.5, label=name)
    fps.hist([list(rates(summary, split).elements()) for split in counted.values()], bins=30, label=list(counted))
    classes.set(xlabel="class, by number of videos", ylabel="videos", ylim=(0, None))
    seconds.set(xlabel="seconds", ylabel="videos")
    sizes.set(xlabel="width (pixels)", ylabel="height (pixels)", xlim=(0, None), ylim=(0, None))
    fps.set(xlabel="frames per second", ylabel="files")
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    figure.legend(*classes.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    save(figure, path)
