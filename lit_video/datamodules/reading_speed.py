"""CPU time of reading clips from videos and from their prepared copies, measured on this machine."""

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from lit_video.utils.text import plural
from lit_video.video.decoding import decode, frame_table

NUM_FRAMES = 8  # frames of a clip
STRIDE = 8  # distance of two frames of a clip; smaller in videos that are too short for it
CLIPS_PER_VIDEO = 4  # clips of a video
SAMPLE = 3  # videos that are measured


class Speed(NamedTuple):
    """Seconds of one core for a clip: of the sources, and of their prepared copies."""

    source: float
    prepared: float
    videos: int

    def __str__(self) -> str:
        """Say whether preparing pays, before hours are spent on it."""
        source = f"{1000 * self.source:.1f} ms"
        prepared = f"{1000 * self.prepared:.1f} ms"
        speeds = f"a clip of {NUM_FRAMES} frames takes {prepared} of a core to read, {source} from SRC"
        speeds += f" ({plural(self.videos, 'video')} measured)"
        gain = round(self.source / self.prepared, 1)
        if gain > 1:
            return f"{speeds}: {gain} x as fast"

        advice = "a faster --preset, a smaller --short-side, or no preparation: their codec is quick to decode"
        return f"{speeds}: no faster; consider {advice}"


def sample_of(jobs: Sequence[tuple[Path, Path]]) -> list[tuple[Path, Path]]:
    """Return a few jobs from all parts of a list."""
    step = max(1, len(jobs) // SAMPLE)
    return [*jobs[::step]][:SAMPLE]


def clips_of(path: Path) -> list[list[int]]:
    """Return the frame numbers of clips at even distances over a video."""
    count = frame_table(path).count
    stride = max(1, min(STRIDE, count // NUM_FRAMES))
    last = max(0, count - 1 - stride * (NUM_FRAMES - 1))

    clips: list[list[int]] = []
    for number in range(CLIPS_PER_VIDEO):
        first = last * number // (CLIPS_PER_VIDEO - 1)
        clips.append([min(first + stride * position, count - 1) for position in range(NUM_FRAMES)])
    return clips


def measure_speed(jobs: Sequence[tuple[Path, Path]]) -> Speed:
    """Measure videos and their copies in turn; a copy has its source's frames."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for job in jobs:
        for clip in clips_of(job[0]):
            for path, spent in zip(job, seconds, strict=True):
                frame_table(path)  # read once for all clips, so no part of a clip's time
                start = time.process_time()
                decode(path, clip)
                spent.append(time.process_time() - start)

    source, prepared = seconds
    return Speed(source=median(source), prepared=median(prepared), videos=len(jobs))
