"""Timelines printed and written: windows, and the segments that they merge into."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from lit_video.inference.timeline import Timeline
from lit_video.utils.clock import clock
from lit_video.utils.files import write_atomically, write_table
from lit_video.utils.text_tables import print_whole


def print_segments(timelines: Sequence[Timeline]) -> None:
    """A table of the segments of all videos."""
    table = Table()
    for name in ("video", "class"):
        table.add_column(name, overflow="fold")
    for name in ("from", "to", "mean %"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in timelines:
        segments = line.segments()
        for i, one in enumerate(segments):
            figures = [clock(one.start, 1), clock(one.end, 1), f"{100 * one.probability:.1f}"]
            cells = [str(line.path) if i == 0 else "", one.name, *figures]
            table.add_row(*map(Text, cells), end_section=i == len(segments) - 1)  # names are no markup
    print_whole(table)


def segments_file(path: Path) -> Path:
    """Where the segments are written beside the windows of a ``.csv``."""
    return path.with_name(f"{path.stem}_segments.csv")


def write_timelines(path: Path, timelines: Sequence[Timeline]) -> list[Path]:
    """Write windows and segments: both into a ``.json``; a ``.csv`` of windows, and one of segments beside it.

    Times are seconds from the video's first frame. Gives the files.

    Raises:
        OSError: a file cannot be written.
    """
    if path.suffix.lower() == ".csv":
        write_table(path, _window_rows(timelines))
        write_table(segments_file(path), _segment_rows(timelines))
        return [path, segments_file(path)]
    videos = [
        asdict(line) | {"path": str(line.path), "segments": [asdict(one) for one in line.segments()]}
        for line in timelines
    ]
    write_atomically(path, json.dumps({"videos": videos}, indent=2, ensure_ascii=False) + "\n")
    return [path]


def _window_rows(timelines: Sequence[Timeline]) -> Iterator[Sequence[object]]:
    yield "path", "start", "end", "task", "rank", "name", "probability", "broken"
    for line in timelines:
        for window in line.windows:
            for task, ranked in window.ranked.items():
                for rank, one in enumerate(ranked, 1):
                    times = f"{window.start:.3f}", f"{window.end:.3f}"
                    yield line.path, *times, task, rank, one.name, f"{one.probability:.6f}", ""
        if line.broken:
            yield line.path, "", "", "", "", "", "", line.broken


def _segment_rows(timelines: Sequence[Timeline]) -> Iterator[Sequence[object]]:
    yield "path", "start", "end", "name", "probability", "windows"
    for line in timelines:
        for one in line.segments():
            yield line.path, f"{one.start:.3f}", f"{one.end:.3f}", one.name, f"{one.probability:.6f}", one.windows
