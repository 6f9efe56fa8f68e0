"""Statistics of a data set's splits: videos that are there, missing or broken, their durations and sizes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from jsonargparse import ArgumentError, ArgumentParser

from lit_video.datamodules import (
    HMDB51,
    UCF101,
    Diving48,
    EpicKitchens100,
    HowTo100MTasks,
    Kinetics400,
    Kinetics600,
    SomethingV2,
    TemporalSkills,
    VideoCSV,
    VideoDataModule,
    VideoFolder,
)
from lit_video.datamodules.digest import data_digest, text_digest
from lit_video.datamodules.manifest import Video, scan
from lit_video.datamodules.probe import VideoInfo
from lit_video.datamodules.records import Records, relative
from lit_video.errors import UserError
from lit_video.utils.command_line import explain
from lit_video.utils.text import text_table
from lit_video.video.clips import VideoRecord

DATASETS: dict[str, type[VideoDataModule]] = {
    "csv": VideoCSV,
    "diving48": Diving48,
    "epic_kitchens100": EpicKitchens100,
    "folder": VideoFolder,
    "hmdb51": HMDB51,
    "howto100m": HowTo100MTasks,
    "kinetics400": Kinetics400,
    "kinetics600": Kinetics600,
    "ssv2": SomethingV2,
    "temporal_skills": TemporalSkills,
    "ucf101": UCF101,
}
SHOWN = 10  # videos of a fault
VERDICTS = ["missing", "broken", "damaged", "suspicious"]
COLUMNS = ["split", "videos", *VERDICTS, "min s", "median s", "max s", "GB", "usual size"]


def open_dataset(name: str, root: Path, flags: Sequence[str]) -> VideoDataModule:
    """A data set by its name in ``DATASETS``, with its folder and flags ``--data.X=Y``, its other arguments.

    Raises:
        UserError: there is no such data set, root or argument.
    """
    if name not in DATASETS:
        raise UserError(f"--dataset: no data set {name!r}; data sets: {', '.join(sorted(DATASETS))}")
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
    """Statistics of one split; a segment of a long video counts as a video."""

    videos: int = 0
    missing: list[str] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)
    damaged: list[tuple[str, str]] = field(default_factory=list)
    suspicious: list[tuple[str, str]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    labels: Counter[str] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)

    @property
    def faults(self) -> dict[str, list[tuple[str, str]]]:
        """Paths and reasons of the videos that are not sound, by what they are."""
        return {"broken": self.broken, "damaged": self.damaged, "suspicious": self.suspicious}


@dataclass
class DatasetSummary:
    """All splits of a data set, the rows of its manifest, and its digests.

    ``data_digest`` is the ``data`` of a run's identity; ``files_digest`` is of the files' sizes as well.
    """

    classes: int | dict[str, int]
    splits: dict[str, SplitSummary]
    rows: Mapping[str, VideoInfo]
    data_digest: str
    files_digest: str

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing, broken or damaged; what is suspicious can be used."""
        return not any(split.missing or split.broken or split.damaged for split in self.splits.values())

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        splits = {
            name: {
                "videos": split.videos,
                "missing": len(split.missing),
                "broken": len(split.broken),
                "damaged": len(split.damaged),
                "suspicious": len(split.suspicious),
                "seconds": spread(split.seconds),
                "bytes": sum(self.rows[name].size or 0 for name in split.files),
                "sizes": dict(self.sizes(split).most_common()),
                "missing_videos": split.missing,
            }
            | {
                f"{what}_videos": [{"path": path, "reason": reason} for path, reason in listed]
                for what, listed in split.faults.items()
            }
            for name, split in self.splits.items()
        }
        digests = {"data_digest": self.data_digest, "files_digest": self.files_digest}
        return {"classes": self.classes, "splits": splits} | digests

    def sizes(self, split: SplitSummary) -> Counter[str]:
        """How many files have which size in pixels."""
        rows = [self.rows[name] for name in split.files]
        return Counter(f"{row.width}x{row.height}" for row in rows if row.width)


def summarise(data: VideoDataModule, file: Path, every_frame: bool = False) -> DatasetSummary:
    """Probe every video of every split; the manifest goes to ``file``."""
    records = {split: Records.of(data.records(split)) for split in data.present}
    root = data.data_root()
    videos: dict[str, Video] = {}
    for each in records.values():
        videos |= {relative(path, root): (path, fps) for path, fps in zip(each.paths, each.rates(), strict=True)}
    rows = scan(videos, file, every_frame).facts()
    splits: dict[str, SplitSummary] = {split: _count(records[split], rows, data.class_names, root) for split in records}
    sizes = sorted(f"{row.path}\t{row.size}" for row in rows.values())
    digest = data_digest(data)
    return DatasetSummary(data.num_classes, splits, rows, digest, text_digest([digest, *sizes]))


def _count(
    records: Records, rows: Mapping[str, VideoInfo], class_names: list[str] | dict[str, list[str]], root: Path
) -> SplitSummary:
    count = SplitSummary(videos=len(records))
    for record in records:
        name = relative(record.path, root)
        row = rows[name]
        count.files.add(name)
        count.labels.update(_names_of(record.label, class_names))
        if row.status == "missing":
            count.missing.append(name)
        elif reason := _outside(record, row) or (row.reason if row.status in {"ok", "broken"} else ""):
            count.broken.append((name, reason))
        else:
            assert row.seconds is not None
            if row.status != "ok":
                count.faults[row.status].append((name, row.reason))
            count.seconds.append(min(record.end or row.seconds, row.seconds) - (record.start or 0))
    return count


def _outside(record: VideoRecord, row: VideoInfo) -> str:
    """Why a segment is none of its video, or an empty string."""
    if record.start is None or row.seconds is None or record.start < row.seconds:
        return ""
    return f"no segment from {record.start:g} s in a video of {row.seconds:.2f} s"


def _names_of(label: int | tuple[int, ...], class_names: list[str] | dict[str, list[str]]) -> list[str]:
    if isinstance(class_names, dict):
        labels = label if isinstance(label, tuple) else (label,)
        return [f"{task} {names[i]}" for (task, names), i in zip(class_names.items(), labels, strict=True)]
    return [class_names[label if isinstance(label, int) else label[0]]]


def spread(values: list[float]) -> dict[str, float] | None:
    """Least, middle and greatest."""
    return {"min": min(values), "median": median(values), "max": max(values)} if values else None


def check_report(summary: DatasetSummary, manifest: Path) -> str:
    """Counts per split, the digests, and the first videos that are not sound."""
    body = [_split_cells(summary, name, split) for name, split in summary.splits.items()]
    missing = list(dict.fromkeys(path for split in summary.splits.values() for path in split.missing))
    faults: dict[str, dict[str, None]] = {}
    for split in summary.splits.values():
        for what, listed in split.faults.items():
            faults.setdefault(what, {}).update(dict.fromkeys(f"{path}: {why}" for path, why in listed))
    parts = [text_table(f"{_classes(summary)}; rows in {manifest}", COLUMNS, body)]
    parts += [_list("missing", missing), *(_list(what, list(lines)) for what, lines in faults.items())]
    parts.append(f"data digest  {summary.data_digest}  (paths, labels)")
    parts[-1] += f"\nfiles digest {summary.files_digest}  (and sizes)"
    return "\n\n".join(filter(None, parts))


def stats_summary(summary: DatasetSummary) -> dict[str, Any]:
    """Videos per class, durations, sizes and rates of every split, as plain data."""
    return {
        name: {
            "videos": split.videos,
            "classes": dict(split.labels.most_common()),
            "seconds": spread(split.seconds),
            "sizes": dict(summary.sizes(split).most_common()),
            "fps": {f"{rate:g}": count for rate, count in sorted(rates(summary, split).items())},
        }
        for name, split in summary.splits.items()
    }


def stats_report(summary: DatasetSummary) -> str:
    """The same as tables."""
    splits = summary.splits
    labels = sum((split.labels for split in splits.values()), Counter[str]())
    classes = [[label, *(str(split.labels[label]) for split in splits.values())] for label, _ in labels.most_common()]
    spreads = [(name, spread(split.seconds)) for name, split in splits.items()]
    seconds = [[name, *(f"{value:.2f}" for value in numbers.values())] for name, numbers in spreads if numbers]
    sizes = {name: summary.sizes(split) for name, split in splits.items()}
    fps = {name: Counter(f"{k:g}" for k in rates(summary, split).elements()) for name, split in splits.items()}
    return "\n\n".join(
        [
            text_table("videos per class", ["class", *splits], classes),
            text_table("seconds", ["split", "min", "median", "max"], seconds),
            text_table("files per size in pixels", ["size", *splits], _counts(sizes)),
            text_table("files per frame rate", ["fps", *splits], _counts(fps)),
        ]
    )


def rates(summary: DatasetSummary, split: SplitSummary) -> Counter[float]:
    """How many files of a split have which frame rate, to a tenth."""
    rows = [summary.rows[name] for name in split.files]
    return Counter(round(row.fps, 1) for row in rows if row.fps)


def _counts(splits: dict[str, Counter[str]]) -> list[list[str]]:
    total = sum(splits.values(), Counter[str]())
    return [[key, *(str(split[key]) for split in splits.values())] for key, _ in total.most_common()]


def _split_cells(summary: DatasetSummary, name: str, split: SplitSummary) -> list[str]:
    counts = [str(count) for count in (split.videos, len(split.missing), *map(len, split.faults.values()))]
    numbers = spread(split.seconds)
    seconds = [f"{value:.2f}" for value in numbers.values()] if numbers else ["", "", ""]
    total = sum(summary.rows[path].size or 0 for path in split.files)
    common = summary.sizes(split).most_common(1)
    return [name, *counts, *seconds, f"{total / 1e9:.3g}", common[0][0] if common else ""]


def _classes(summary: DatasetSummary) -> str:
    if isinstance(summary.classes, dict):
        return ", ".join(f"{count} {task}s" for task, count in summary.classes.items())
    return f"{summary.classes} classes"


def _list(what: str, lines: list[str]) -> str:
    if not lines:
        return ""
    more = [f"  and {len(lines) - SHOWN} more; all are in the manifest"] if len(lines) > SHOWN else []
    return "\n".join([f"{what} ({len(lines)}):", *(f"  {line}" for line in lines[:SHOWN]), *more])
