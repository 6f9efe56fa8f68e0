"""Statistics of a data set's splits: videos that are there, missing or broken, their durations and sizes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from jsonargparse import ArgumentError, ArgumentParser

from lit_video import datamodules
from lit_video.datamodules.base import VideoDataModule
from lit_video.datamodules.digest import data_digest
from lit_video.datamodules.manifest import Video, scan
from lit_video.datamodules.probe import VideoInfo
from lit_video.datamodules.records import Records, relative
from lit_video.errors import UserError
from lit_video.utils.command_line import explain
from lit_video.utils.text import did_you_mean, text_table

BASES = {"AnnotatedVideos", "VideoDataModule"}
DATASETS: dict[str, type[VideoDataModule]] = {
    name: kind
    for name, kind in vars(datamodules).items()
    if isinstance(kind, type) and issubclass(kind, VideoDataModule) and name not in BASES
}
SHOWN = 10  # videos of a fault
VERDICTS = ["missing", "broken", "damaged", "suspicious"]
COLUMNS = ["split", "videos", *VERDICTS, "min s", "median s", "max s", "GB", "usual size"]


def open_dataset(name: str, root: Path, flags: Sequence[str]) -> VideoDataModule:
    """A data set by the name of its class, with its folder and flags ``--data.X=Y``, its other arguments.

    Raises:
        UserError: there is no such data set, root or argument.
    """
    if name not in DATASETS:
        raise UserError(
            f"--dataset: no data set {name!r}; data sets: {', '.join(sorted(DATASETS))}{did_you_mean(name, DATASETS)}"
        )
    if not root.is_dir():
        raise UserError(f"ROOT: the folder {root} does not exist")
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(DATASETS[name], "data")
    try:
        config = parser.parse_args([f"--data.root={root}", *flags])
        data: VideoDataModule = parser.instantiate(config).data
    except (ArgumentError, ValueError, TypeError) as error:
        raise UserError(": ".join(filter(None, explain(str(error))))) from error
    return data


@dataclass
class SplitSummary:
    """Statistics of one split; a segment of a long video counts as a video.

    ``faults``: path and reason of the videos with each of ``VERDICTS``; ``files``: rows of the manifest by path.
    """

    videos: int
    faults: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: {what: [] for what in VERDICTS})
    seconds: list[float] = field(default_factory=list)
    labels: Counter[str] = field(default_factory=Counter)
    files: dict[str, VideoInfo] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing, broken or damaged; what is suspicious can be used."""
        return not any(listed for what, listed in self.faults.items() if what != "suspicious")

    @property
    def sizes(self) -> Counter[str]:
        """How many files have which size in pixels."""
        return Counter(f"{row.width}x{row.height}" for row in self.files.values() if row.width)

    @property
    def spread(self) -> list[str]:
        """Least, middle and greatest duration in seconds; empty cells if there is none."""
        seconds = self.seconds
        return [f"{one:.2f}" for one in (min(seconds), median(seconds), max(seconds))] if seconds else [""] * 3


def summarise(data: VideoDataModule, file: Path, every_frame: bool = False) -> dict[str, SplitSummary]:
    """Probe every video of every split; the manifest goes to ``file``."""
    root, records = data.data_root(), {split: Records.of(data.records(split)) for split in data.present}
    videos: dict[str, Video] = {}
    for each in records.values():
        videos |= {relative(path, root): (path, fps) for path, fps in zip(each.paths, each.rates(), strict=True)}
    rows = scan(videos, file, every_frame).facts()
    return {split: _summary(each, rows, data.class_names, root) for split, each in records.items()}


def _summary(
    records: Records, rows: Mapping[str, VideoInfo], class_names: list[str] | dict[str, list[str]], root: Path
) -> SplitSummary:
    summary = SplitSummary(len(records))
    for record in records:
        row = rows[relative(record.path, root)]
        summary.files[row.path] = row
        summary.labels.update(_names_of(record.label, class_names))
        status, reason = row.status, row.reason
        start = record.start or 0.0
        if row.seconds is not None and start >= row.seconds:
            status, reason = "broken", f"no segment from {start:g} s in a video of {row.seconds:.2f} s"
        if status != "ok":
            summary.faults[status].append((row.path, reason))
        if row.seconds is not None and status not in {"missing", "broken"}:
            summary.seconds.append(min(record.end or row.seconds, row.seconds) - start)
    return summary


def _names_of(label: int | tuple[int, ...], class_names: list[str] | dict[str, list[str]]) -> list[str]:
    if isinstance(class_names, dict):
        labels = label if isinstance(label, tuple) else (label,)
        return [f"{task} {names[i]}" for (task, names), i in zip(class_names.items(), labels, strict=True)]
    return [class_names[label if isinstance(label, int) else label[0]]]


def check_report(data: VideoDataModule, splits: Mapping[str, SplitSummary], manifest: Path) -> str:
    """Counts per split, the first videos that are not sound, and the digest: the ``data`` of a run's identity."""
    classes = data.num_classes
    counts = (
        ", ".join(f"{n} {task}s" for task, n in classes.items()) if isinstance(classes, dict) else f"{classes} classes"
    )
    parts = [text_table(f"{counts}; rows in {manifest}", COLUMNS, [_cells(*each) for each in splits.items()])]
    for what in VERDICTS:
        listed = [f"  {path}: {why}" for split in splits.values() for path, why in split.faults[what]]
        lines = list(dict.fromkeys(listed))
        more = [f"  and {len(lines) - SHOWN} more; all are in the manifest"] if len(lines) > SHOWN else []
        parts += ["\n".join([f"{what} ({len(lines)}):", *lines[:SHOWN], *more])] if lines else []
    return "\n\n".join([*parts, f"data digest  {data_digest(data)}  (paths, labels)"])


def _cells(name: str, split: SplitSummary) -> list[str]:
    counts = [str(count) for count in (split.videos, *map(len, split.faults.values()))]
    total = sum(row.size or 0 for row in split.files.values())
    return [
        name,
        *counts,
        *split.spread,
        f"{total / 1e9:.3g}",
        *([size for size, _ in split.sizes.most_common(1)] or [""]),
    ]


def stats_report(splits: Mapping[str, SplitSummary]) -> str:
    """Tables of the videos per class, durations, sizes and frame rates of every split."""
    rates = {
        name: Counter(f"{round(row.fps, 1):g}" for row in split.files.values() if row.fps)
        for name, split in splits.items()
    }
    seconds = [[name, *split.spread] for name, split in splits.items()]
    return "\n\n".join(
        [
            _counts("videos per class", "class", {name: split.labels for name, split in splits.items()}),
            text_table("seconds", ["split", "min", "median", "max"], seconds),
            _counts("files per size in pixels", "size", {name: split.sizes for name, split in splits.items()}),
            _counts("files per frame rate", "fps", rates),
        ]
    )


def _counts(title: str, column: str, splits: Mapping[str, Counter[str]]) -> str:
    total = sum(splits.values(), Counter[str]())
    rows = [[key, *(str(counts[key]) for counts in splits.values())] for key, _ in total.most_common()]
    return text_table(title, [column, *splits], rows)
