"""Videos on which a trained model is tried, given by paths of files and folders; their views, batches and device."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lit_video.datamodules.records import print_once
from lit_video.errors import OptionError, UserError
from lit_video.utils.arguments import Count, Positive, Whole, refuse_wrong_values
from lit_video.utils.columns import read_times, unused_words
from lit_video.utils.files import user_path
from lit_video.utils.video_files import Folders, is_table, read_video_rows, table_form, videos_at
from lit_video.video.clips import VideoRecord

Paths = str | Path | Sequence[str | Path | VideoRecord]  # find_videos returns given records unchanged

_Part = tuple[Path, float | None, float | None]  # file, start and end in seconds


@dataclass(frozen=True)
class Evaluation:
    """How to evaluate a model on videos.

    Attributes:
        clips: clips of a video; ``None`` for the number in the run's own test.
        crops: crops of each clip; ``None`` for the number in the run's own test.
        batch: clips at a time.
        workers: processes that decode; 0 decodes in the main process.
        device: device to compute on; ``None`` for a GPU if there is one.
        progress: show a progress bar in a terminal.
        fps: frame rate of folders of pictures, which then count as videos.

    Raises:
        UserError: a number is too small, or there is no such device.
    """

    clips: Count | None = None
    crops: Count | None = None
    batch: Count = 8
    workers: Whole = 2
    device: Literal["cpu", "cuda"] | None = None
    progress: bool = False
    fps: Positive | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        refuse_wrong_values(type(self), vars(self))


def find_videos(videos: Paths, fps: float | None = None) -> list[VideoRecord]:
    """Find videos by file, folder (recursively, by file extension) or table, without duplicates.

    Labels are placeholders. A table's segments are read as by ``finetune`` and
    :class:`~lit_video.datamodules.VideoCSV`. Folders of pictures count as videos if their frame rate ``fps`` is given.
    """
    if isinstance(videos, str | Path):
        videos = [videos]

    records = [video for video in videos if isinstance(video, VideoRecord)]
    if records:
        return records

    segments: dict[_Part, None] = {}
    for text in map(str, videos):
        path = user_path(text)
        if not path.exists():
            raise UserError(f"{path}: no such file or folder")
        parts = _of_table(path) if is_table(path) else ((video, None, None) for video in videos_at(path, fps))
        segments |= dict.fromkeys(parts)

    if not segments:
        raise OptionError("videos", "there is none")
    listed: list[VideoRecord] = []
    for path, start, end in segments:
        listed.append(VideoRecord(path, 0, start=start, end=end, fps=fps if path.is_dir() else None))
    return listed


def _of_table(table: Path) -> Iterator[_Part]:
    """Yield the path, start and end of each row of a table; name the columns that are not used."""
    form = table_form(table)
    if form is None:
        raise UserError(f"{table}: lists no videos; expected a column path, or a video in each line")
    rows = read_video_rows("table", table, form)
    others = [name for name in rows[0].cells if name and name != form.path]
    times = read_times(f"table: {table}", rows, others)
    unused = [name for name in others if name not in times.columns]
    if unused:
        print_once(f"{table}: columns that are not used: {unused_words(rows, unused, {})}")

    folders = Folders()
    for row in times.rows:
        start, end = row.segment("start", "end") if times.columns else (None, None)
        yield Path(folders.there(os.path.abspath(table.parent / row.text(form.path)))), start, end
