"""A long video as a timeline: classes of a window that moves over it. The video is decoded once, in order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from math import floor
from pathlib import Path

import torch
from torch import Tensor

from lit_video.errors import OptionError
from lit_video.inference.checkpoints import TrainedModel
from lit_video.inference.predict import Evaluation, video_list
from lit_video.inference.ranking import Ranked, best, rank_rows, ranked_videos
from lit_video.utils.environment import choose_device
from lit_video.utils.files import write_table
from lit_video.utils.parallel import with_progress
from lit_video.utils.text import clock, text_table
from lit_video.video.augmentation import EvaluationViews
from lit_video.video.batch import normalise
from lit_video.video.clips import VideoRecord, clip_numbers
from lit_video.video.decoding import DecodeError, Frames, segment


@dataclass(frozen=True)
class Window:
    """A part of a video, in seconds from its first frame, and its most probable classes (of each task)."""

    start: float
    end: float
    ranked: dict[str, list[Ranked]]

    @property
    def middle(self) -> float:
        """The time that the window stands for."""
        return (self.start + self.end) / 2


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
    """Windows of a video, first to last.

    Args:
        path: the video.
        seconds: its duration.
        windows: windows that could be read.
        broken: why there are no more of them, or an empty string.
    """

    path: Path
    seconds: float
    windows: list[Window]
    broken: str = ""

    def segments(self) -> list[Segment]:
        """Neighbouring windows with one best class as one; they follow each other without gaps.

        A segment changes to the next halfway between the middles of their windows; the first one begins with the video,
        the last one ends with it (of a broken video, with the last window).
        """
        edges = [0.0, *((a.middle + b.middle) / 2 for a, b in pairwise(self.windows))]
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
    name: str = "windows",
) -> Timeline:
    """Classify a window that moves over a video.

    Every window is one clip, cut as from a video of that length; views in space and the rest are as in
    :func:`~lit_video.inference.predict.predict`. Only the pixels of the windows at hand are held, as the model takes
    them.

    Args:
        trained: the model.
        record: the video; one that cannot be read, or not to its end, is no error: see ``broken``.
        evaluation: crops, batches and device; this process decodes.
        every: seconds from one window to the next.
        window: seconds of a window; ``None`` for those of a clip of the model's training.
        top: classes to name of each window.
        name: name of the work in the progress bar or lines.

    Raises:
        UserError: the model's clips have no length of their own, and ``window`` is ``None``.
    """
    clips, path = _Clips(trained, record, evaluation, every, window), f"{record.path}: "
    try:
        spans = clips.prepare()
    except DecodeError as error:
        return Timeline(record.path, 0.0, [], str(error).removeprefix(path))
    computed = _logits(trained, clips, choose_device(evaluation.device), evaluation.batch)
    shown = with_progress(computed, len(spans), name) if evaluation.progress else computed
    logits, broken = [], ""
    for row, reason in shown:
        if reason:
            broken = reason.removeprefix(path)
            break
        logits.append(row)
    if not logits:
        return Timeline(record.path, clips.seconds, [], broken)
    ranked = ranked_videos([record.path] * len(logits), torch.stack(logits), trained.class_names, top)
    windows = [Window(*span, of.ranked) for span, of in zip(spans, ranked, strict=False)]
    return Timeline(record.path, clips.seconds, windows, broken)


def window_spans(seconds: float, window: float, every: float) -> list[tuple[float, float]]:
    """Start and end of every window; the last one is moved back so that it ends with the video."""
    if seconds <= window:
        return [(0.0, seconds)]
    starts = [i * every for i in range(floor((seconds - window) / every) + 1)]
    if seconds - window - starts[-1] > 1e-6:
        starts.append(seconds - window)
    return [(start, start + window) for start in starts]


class _Clips:
    """The windows' clips, uint8 ``(crops, t, 3, height, width)``, in order, from one pass over the video."""

    def __init__(
        self,
        trained: TrainedModel,
        record: VideoRecord,
        evaluation: Evaluation,
        every: float,
        window: float | None = None,
    ) -> None:
        self.data = video_list(trained, [record], evaluation)
        self.view: EvaluationViews = self.data.view_type(self.data.test_crops, self.data.image_size)
        self.record = record
        self.every, self.window = every, window
        self.seconds = 0.0
        self.numbers: list[list[int]] = []

    def prepare(self) -> list[tuple[float, float]]:
        """Find the frames of every window; gives the windows.

        Raises:
            DecodeError: the video cannot be opened.
            UserError: windows have no length.
        """
        table = self.record.table()
        self.seconds = float(table.seconds)
        length = self.window or self.data.sampling.clip_seconds(table, self.data.frames)
        if length is None:
            kind = type(self.data.sampling).__name__
            whole = f"the model's clips ({kind}) show whole videos"
            raise OptionError("every", f"{whole}; give --window SECONDS, how long those of its training are")
        spans = window_spans(self.seconds, float(length), self.every)
        for start, end in spans:
            first, part = segment(self.record.path, table, start, end)
            numbers = clip_numbers(part, self.data.sampling, self.data.frames, self.data.short, 0, 1)
            self.numbers.append([first + i for i in numbers])
        return spans

    def __iter__(self) -> Iterator[tuple[Tensor, str]]:
        """One clip after the other; the last one is empty and says why, if the video cannot be read to its end."""
        frames, kept, newest = self._frames(), dict[int, Tensor](), -1
        clip = torch.zeros(self.data.test_crops, self.data.frames, 3, *self.view.size, dtype=torch.uint8)
        try:
            for wanted in self.numbers:
                kept = {i: view for i, view in kept.items() if i >= min(wanted)}
                while newest < max(wanted):
                    newest, frame = next(frames)
                    kept[newest] = self.view(frame[None])[:, 0]
                clip = torch.stack([kept[i] for i in wanted], dim=1)
                yield clip, ""
        except DecodeError as error:
            yield clip, str(error)

    def _frames(self) -> Iterator[tuple[int, Frames]]:
        wanted = sorted({i for numbers in self.numbers for i in numbers})
        return zip(wanted, self.record.decode_in_order(wanted), strict=True)


def _logits(trained: TrainedModel, clips: _Clips, on: torch.device, batch: int) -> Iterator[tuple[Tensor, str]]:
    """Logits of every window, the mean over its crops, ``(classes,)``; and why its video cannot be read, or ""."""
    data, model, windows = clips.data, trained.model.to(on), iter(clips)
    while some := list(islice(windows, batch)):
        inputs = normalise(torch.stack([clip for clip, _ in some]).to(on), data.mean, data.std, data.channels)
        with torch.inference_mode():
            logits = model(inputs).float().cpu()
        yield from zip(logits.view(len(some), -1, logits.shape[1]).mean(1), (reason for _, reason in some), strict=True)


def table_of(timelines: Sequence[Timeline]) -> str:
    """A table of the segments of all videos."""
    body = [
        ["" if i else str(line.path), one.name, clock(one.start, 1), clock(one.end, 1), f"{100 * one.probability:.1f}"]
        for line in timelines
        for i, one in enumerate(line.segments())
    ]
    return text_table("", ["video", "class", "from", "to", "mean %"], body)


def write_timelines(path: Path, timelines: Sequence[Timeline]) -> list[Path]:
    """Write a ``.csv`` of windows, and one of segments beside it; gives the files.

    Times are seconds from the video's first frame.

    Raises:
        OSError: a file cannot be written.
    """
    segments = path.with_name(f"{path.stem}_segments.csv")
    write_table(path, _window_rows(timelines))
    write_table(segments, _segment_rows(timelines))
    return [path, segments]


def _window_rows(timelines: Sequence[Timeline]) -> Iterator[Sequence[object]]:
    yield "path", "start", "end", "task", "rank", "name", "probability", "broken"
    for line in timelines:
        for window in line.windows:
            part = line.path, f"{window.start:.3f}", f"{window.end:.3f}"
            yield from ((*part, *row, "") for row in rank_rows(window.ranked))
        if line.broken:
            yield line.path, "", "", "", "", "", "", line.broken


def _segment_rows(timelines: Sequence[Timeline]) -> Iterator[Sequence[object]]:
    yield "path", "start", "end", "name", "probability", "windows"
    for line in timelines:
        for one in line.segments():
            yield line.path, f"{one.start:.3f}", f"{one.end:.3f}", one.name, f"{one.probability:.6f}", one.windows
