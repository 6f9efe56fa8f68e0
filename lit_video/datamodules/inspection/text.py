"""What ``data check`` and ``data stats`` print."""

from collections import Counter
from pathlib import Path
from typing import Any

from lit_video.datamodules.inspection.summary import DatasetSummary, SplitSummary, spread
from lit_video.utils.text_tables import text_table

SHOWN = 10  # videos of a fault
VERDICTS = ["missing", "broken", "damaged", "suspicious"]
COLUMNS = ["split", "videos", *VERDICTS, "min s", "median s", "max s", "GB", "usual size"]


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
