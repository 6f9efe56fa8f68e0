"""A long video as a timeline: classes of a window that moves over it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, takewhile
from math import floor
from pathlib import Path

import torch

from lit_video.errors import OptionError
from lit_video.inference.predict import Evaluation, TrainedModel, outputs_of, video_list
from lit_video.inference.ranking import YES, Ranked, best, rank_rows, ranked_videos
from lit_video.utils.files import write_table
from lit_video.utils.text import clock, text_table
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import DecodeError


@dataclass(frozen=True)
class Window:
    """A part of a video, in seconds from its first frame, and its most probable classes (of each task)."""

    start: float
    end: float
    ranked: dict[str, list[Ranked]]


@dataclass(frozen=True)
class Segment:
    """Neighbouring windows of one class: from when to when, and the mean of its probability in them."""

    start: float
    end: float
    name: str
    probability: float
    windows: int


@dataclass(frozen=True)
class Timeline:
    """Windows of a video that could be read, first to last; ``broken`` says why there are no more of them."""

    path: Path
    seconds: float
    windows: list[Window]
    broken: str = ""
    trained_on: bool | None = None

    def segments(self) -> list[Segment]:
        """Neighbouring windows with one best class as one; they follow each other without gaps.

        A segment changes to the next halfway between the middles of their windows; the first one begins with the video,
        the last one ends with it (of a broken video, with the last window).
        """
        middles = [(window.start + window.end) / 2 for window in self.windows]
        edges = [0.0, *((a + b) / 2 for a, b in pairwise(middles))]
        edges.append(self.windows[-1].end if self.windows and self.broken else self.seconds)
        merged, first = [], 0
        for name, run in groupby(self.windows, key=lambda window: best(window.ranked).name):
            shares = [best(window.ranked).probability for window in run]
            last = first + len(shares)
            merged.append(Segment(edges[first], edges[last], name, sum(shares) / len(shares), len(shares)))
            first = last
        return merged


def timeline(
    trained: TrainedModel,
    record: VideoRecord,
    evaluation: Evaluation,
    every: float,
    window: float | None = None,
    top: int = 5,
) -> Timeline:
    """Classify a window that moves over a video: each is a part of it, classified as by ``predict``, with one clip.

    A video that cannot be read, or not to its end, is no error: see ``broken``. Windows of ``window`` seconds,
    ``None`` for those of a clip of the model's training, begin ``every`` so many seconds; each names ``top`` classes.

    Raises:
        UserError: the model's clips have no length of their own, and ``window`` is ``None``.
    """
    single = replace(evaluation, clips=1)
    whole = video_list(trained, [record], single)
    try:
        table = record.table()
    except DecodeError as error:
        return Timeline(record.path, 0.0, [], str(error).removeprefix(f"{record.path}: "))
    length = window or whole.sampling.clip_seconds(table, whole.frames)
    if length is None:
        clips = f"the model's clips ({type(whole.sampling).__name__}) show whole videos"
        raise OptionError("every", f"{clips}; give --window SECONDS, how long those of its training are")
    seconds = float(table.seconds)
    spans = window_spans(seconds, float(length), every)
    parts = video_list(trained, [replace(record, start=start, end=end) for start, end in spans], single)
    outputs = outputs_of(trained, parts, evaluation, f"{record.path.name}, windows")
    broken = next(filter(None, (reason for *_, reason in outputs)), "")
    logits = [row for row, *_ in takewhile(lambda output: not output[-1], outputs)]
    if not logits:
        return Timeline(record.path, seconds, [], broken)
    several = trained.model.several_labels
    ranked = ranked_videos([record.path] * len(logits), torch.stack(logits), trained.class_names, top, several)
    windows = [Window(*span, of.ranked) for span, of in zip(spans, ranked, strict=False)]
    return Timeline(record.path, seconds, windows, broken, *trained.saw([record]))


def window_spans(seconds: float, window: float, every: float) -> list[tuple[float, float]]:
    """Start and end of every window; the last one is moved back so that it ends with the video."""
    if seconds <= window:
        return [(0.0, seconds)]
    starts = [i * every for i in range(floor((seconds - window) / every) + 1)]
    if seconds - window - starts[-1] > 1e-6:
        starts.append(seconds - window)
    return [(start, start + window) for start in starts]


def table_of(timelines: Sequence[Timeline]) -> str:
    """Return a table of the segments of all videos."""
    body = [
        ["" if i else str(line.path), one.name, clock(one.start, 1), clock(one.end, 1), f"{100 * one.probability:.1f}"]
        for line in timelines
        for i, one in enumerate(line.segments())
    ]
    return text_table("", ["video", "class", "from", "to", "mean %"], body)


def write_timelines(path: Path, timelines: Sequence[Timeline]) -> list[Path]:
    """Write a ``.csv`` of windows, and one of segments beside it, times in seconds from the first frame."""
    segments = path.with_name(f"{path.stem}_segments.csv")
    header = ("path", "start", "end", "task", "rank", "name", "probability", "trained_on", "broken")
    windows: list[Sequence[object]] = [header]
    merged: list[Sequence[object]] = [("path", "start", "end", "name", "probability", "windows")]
    for line in timelines:
        for window in line.windows:
            part = line.path, f"{window.start:.3f}", f"{window.end:.3f}"
            windows += [(*part, *row, YES[line.trained_on], "") for row in rank_rows(window.ranked)]
        if line.broken:
            windows.append((line.path, *[""] * 7, line.broken))
        for one in line.segments():
            part = line.path, f"{one.start:.3f}", f"{one.end:.3f}"
            merged.append((*part, one.name, f"{one.probability:.6f}", one.windows))
    write_table(path, windows)
    write_table(segments, merged)
    return [path, segments]
