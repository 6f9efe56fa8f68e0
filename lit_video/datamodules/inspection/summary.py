"""What a data set's splits hold: how many videos, what is missing or broken, how long, how large."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from lit_video.datamodules.base import VideoDataModule
from lit_video.datamodules.digest import data_digest, text_digest
from lit_video.video.clips import VideoRecord
from lit_video.video.manifest import Video, scan
from lit_video.video.probe import VideoInfo
from lit_video.video.records import Records, relative


@dataclass
class SplitSummary:
    """What one split holds; a segment of a long video counts as a video."""

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

    ``data_digest`` is that of a run's ``result.json``; ``files_digest`` is of the files' sizes as well.
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
