"""The table of an experiment's videos, which is read back literally, whatever their names."""

from collections.abc import Sequence
from pathlib import Path

from lit_video.own_videos.finding import OwnVideo, labels_of, splits_of
from lit_video.utils.files import write_table

DRAW = "group"  # column that names the draw of each video


def write_videos(file: Path, videos: Sequence[OwnVideo], draws: Sequence[str] | None = None) -> list[str]:
    """Write the table of videos with their segments, splits and draws, as far as they have any; return its columns."""
    # blanks around a cell would be cut, so a path that begins or ends with one begins with a point
    paths = [video.path if video.path == video.path.strip() else f"./{video.path}" for video in videos]
    columns: dict[str, Sequence[str | None]] = {"path": paths, "label": labels_of(videos)}
    if any(video.is_part for video in videos):
        columns["start"] = [_seconds(video.start) for video in videos]
        columns["end"] = [_seconds(video.end) for video in videos]
    if any(splits_of(videos)):
        columns["split"] = splits_of(videos)
    if draws:
        columns[DRAW] = draws
    write_table(file, [[*columns], *zip(*columns.values(), strict=True)])
    return [*columns]


def _seconds(time: float | None) -> str:
    return "" if time is None else repr(time)
