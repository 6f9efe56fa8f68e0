"""Compare the reading of videos and lists with torchcodec and with another checkout, in seconds of the processor.

    python -m benchmarks.beside ROOT --before CHECKOUT -o beside.json

ROOT is a folder of videos of any containers and codecs; one that does not exist is made, a video for each container and
codec that PyAV can write. ``torchcodec`` is our time over that of torchcodec, for a video that neither has read before;
``before`` and ``before, known`` are ours over the checkout's, for a new video and for one whose table of frames is
known. A library that gives other pixels than ours is not timed. Lists of 1,000 videos are timed beside the checkout
too. Every round asks all processes in turn, and ratios are medians over rounds.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import av
import numpy as np
from av.video.stream import VideoStream
from numpy.typing import NDArray

from benchmarks.harness import Measurement, Result, Table, number, parser, ran
from lit_video.errors import UserError
from lit_video.utils.files import is_video

CHECKOUT = Path(__file__).resolve().parents[1]
WORKER = Path(__file__).with_name("beside_worker.py")
FRAMES = 8  # frames of a clip
LISTED = 1000
LENGTH, RATE, WIDTH, HEIGHT = 240, 25, 320, 240
# codecs with their pixels and options; key frames are 12 apart, as cameras and data sets have them at the closest
CODECS: dict[str, tuple[str, dict[str, str]]] = {
    "mjpeg": ("yuvj420p", {}),
    "mpeg4": ("yuv420p", {"q": "4", "g": "12"}),
    "msmpeg4": ("yuv420p", {"g": "12"}),
    "wmv2": ("yuv420p", {"g": "12"}),
    "mpeg2video": ("yuv420p", {"g": "12"}),
    "libx264": ("yuv420p", {"g": "12", "preset": "veryfast"}),
    "libx265": ("yuv420p", {"g": "12", "preset": "ultrafast", "x265-params": "log-level=none"}),
    "libvpx": ("yuv420p", {"g": "12", "deadline": "realtime", "cpu-used": "8"}),
    "libvpx-vp9": ("yuv420p", {"g": "12", "deadline": "realtime", "cpu-used": "8"}),
    "libsvtav1": ("yuv420p", {"g": "12", "preset": "12"}),
    "ffv1": ("yuv420p", {}),
    "png": ("rgb24", {}),
}
CONTAINERS = ("avi", "mp4", "mov", "mkv", "webm", "ts", "flv", "wmv")


class Worker:
    """A process that times tasks with the code of a checkout."""

    def __init__(self, checkout: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"},
            cwd=checkout,
            text=True,
        )

    def ask(self, kind: str, path: Path, **facts: Any) -> Any:
        """Return the answer to a task: seconds and digest, or numbers of frames, or the words of an error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"kind": kind, "path": str(path), **facts}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise UserError(f"the process that reads {path} ended; its message is above")
        return json.loads(line)


def make_videos(root: Path) -> None:
    """Write a video for each container and codec that go together."""
    root.mkdir(parents=True)
    rng = np.random.default_rng(0)
    still = rng.integers(0, 255, (HEIGHT // 8, WIDTH // 8, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1)
    for codec, (pixels, options) in CODECS.items():
        for container in CONTAINERS:
            path = root / f"{codec}.{container}"
            try:
                _write(path, codec, pixels, options, still)
            except (av.FFmpegError, ValueError):
                path.unlink(missing_ok=True)


def _write(path: Path, codec: str, pixels: str, options: Mapping[str, str], still: NDArray[np.uint8]) -> None:
    """Write a video in which a picture moves."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=RATE, options=dict(options))
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, pixels
        for i in range(LENGTH):
            frame = av.VideoFrame.from_ndarray(np.roll(still, (2 * i, 3 * i), (0, 1)), format="rgb24")
            frame.pts, frame.time_base = i, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def make_lists(folder: Path) -> dict[str, tuple[str, Path]]:
    """Write a folder and a table of 1,000 empty files; return tasks on them by name."""
    rows = [["path", "label", "subject"]]
    for i in range(LISTED):
        file = folder / "videos" / f"class{i % 10}" / f"v{i}.mp4"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        rows.append([str(file), f"class{i % 10}", f"S{i % 9}"])
    table = folder / "videos.csv"
    with table.open("w", newline="") as content:
        csv.writer(content).writerows(rows)
    return {
        "folder, finetune": ("find", folder / "videos"),
        "table, finetune": ("find", table),
        "table, VideoCSV": ("csv", table),
    }


def timed(asked: Mapping[str, tuple[Worker, str]], path: Path, rounds: int, **facts: Any) -> dict[str, Any]:
    """Return a row: for each name the median seconds, and those of ours over its own; names that fail are told.

    Args:
        asked: processes and tasks by name.
        path: the video or list.
        rounds: how often each is asked, after once that does not count.
        facts: further facts of the task.
    """
    row: dict[str, Any] = {}
    answers = {name: worker.ask(kind, path, **facts) for name, (worker, kind) in asked.items()}
    digests = {name: answer[1] for name, answer in answers.items() if not isinstance(answer, str)}
    row |= {f"{name}: {answer}": "" for name, answer in answers.items() if isinstance(answer, str)}
    if "ours" not in digests:
        return row | {"left_out": answers["ours"]}

    right = {name: asked[name] for name, digest in digests.items() if digest == digests["ours"]}
    times: dict[str, list[float]] = {name: [] for name in right}
    for _ in range(rounds):
        for name, (worker, kind) in right.items():
            times[name].append(worker.ask(kind, path, **facts)[0])
    row |= {f"{name}_seconds": median(each) for name, each in times.items()}
    pairs = {"torchcodec": "ours", "before": "ours", "before, known": "known"}
    for name, own in pairs.items():
        if name in times and own in times:
            row[f"{name}_ratio"] = median(a / b for a, b in zip(times[own], times[name], strict=True))
    row["other_pixels"] = [name for name, digest in digests.items() if digest != digests["ours"]]
    return row


def tables(result: Result) -> Iterator[Table]:
    """Yield the table of videos, then that of lists."""
    ratios = ("torchcodec_ratio", "before_ratio", "before, known_ratio")
    for kind, names in (("videos", ratios), ("lists", ratios[1:2])):
        rows = [row for row in result["rows"] if row["kind"] == kind]
        header = [kind, "ms", *(name.removesuffix("_ratio") for name in names), "other pixels"]
        body = [
            [
                row["name"],
                number(row, "ours_seconds", ".2f", 1e-3),
                *(number(row, name, ".2f") for name in names),
                ", ".join(row.get("other_pixels", [])) or str(row.get("left_out", "")),
            ]
            for row in rows
        ]
        yield Table(f"Seconds of the processor, ours over others', {result['device']}", header, body, [])


def main() -> int:
    """Measure all videos and lists."""
    made = parser("beside", __doc__ or "", repeats=15)
    made.add_argument("root", type=Path, metavar="ROOT", help="folder of videos; made if it does not exist")
    made.add_argument("--before", type=Path, metavar="CHECKOUT", help="another checkout of this repository")
    given = made.parse_args()
    if not given.root.exists():
        make_videos(given.root)
    given.device = "cpu"
    measurement = Measurement("beside", given)
    measure(measurement, given.root.resolve(), given.before and given.before.resolve(), given.repeats)
    return measurement.show(tables)


def measure(measurement: Measurement, root: Path, before: Path | None, rounds: int) -> None:
    """Add a row for each video of a folder, and for each list if there is another checkout."""
    ours = Worker(CHECKOUT)
    asked = {"ours": (ours, "new"), "known": (ours, "known"), "torchcodec": (Worker(CHECKOUT), "torchcodec")}
    other = Worker(before) if before else None
    if other:
        asked |= {"before": (other, "new"), "before, known": (other, "known")}

    videos: Sequence[Path] = sorted(path for path in root.rglob("[!.]*") if is_video(path))
    for path in videos:
        numbers = ours.ask("numbers", path, frames=FRAMES)
        row: dict[str, Any] = {"kind": "videos", "name": path.relative_to(root).as_posix()}
        row |= {"left_out": numbers} if isinstance(numbers, str) else timed(asked, path, rounds, numbers=numbers)
        measurement.rows.append(row)
        measurement.keep()
        print(row, file=sys.stderr, flush=True)

    if other:
        with tempfile.TemporaryDirectory() as folder:
            for name, (kind, path) in make_lists(Path(folder)).items():
                both = {"ours": (ours, kind), "before": (other, kind)}
                measurement.rows.append({"kind": "lists", "name": name} | timed(both, path, rounds))
                measurement.keep()


if __name__ == "__main__":
    ran(main)
