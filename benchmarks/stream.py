"""Time and memory per frame of a causal X-ViT on a growing video, beside running it on the last clip for every frame.

python -m benchmarks.stream --size S
python -m benchmarks.stream --length 256 --window 2 -o stream.json
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

import torch

from benchmarks.harness import CLASSES, Measurement, Result, Row, Table, add_size, number, parser, peak_memory, ran
from lit_video.attention import MixingPlan
from lit_video.network.patches import ClipSize
from lit_video.network.positions import Positions
from lit_video.network.streaming import Stream
from lit_video.network.vit import SIZES
from lit_video.network.xvit import aggregation, xvit
from lit_video.training.throughput import seconds

SECTIONS = 4


def measure(network: torch.nn.Module, clip: torch.Tensor, count: int) -> Iterator[Row]:
    """A row per quarter of a video of ``count`` clips.

    After the frames of a clip, one at a time, the network runs on the whole clip: both stand in one round, so
    that their ratio does not depend on the machine's load.
    """
    stream = Stream(network)
    for _ in range(2):  # the first rounds warm up
        stream(clip[:, :, :1])
    with torch.inference_mode():
        network(clip)
    stream.reset()
    rounds = [_round(stream, clip, f"round {i + 1} of {count}") for i in range(count)]
    each = count // SECTIONS
    for i in range(SECTIONS):
        yield _row(rounds[each * i : each * (i + 1)], clip.shape[2] * each * (i + 1))


def _round(stream: Stream, clip: torch.Tensor, name: str) -> dict[str, Any]:
    frames: list[float] = []

    def step(frame: torch.Tensor) -> None:
        frames.append(seconds(partial(stream, frame), clip.device))

    *others, last = torch.split(clip, 1, dim=2)
    for frame in others:
        step(frame)
    peak = peak_memory(partial(step, last), clip.device)
    with torch.inference_mode():
        whole = seconds(lambda: stream.network(clip), clip.device)
    print(f"{name}: a frame {median(frames):.3f} s, a clip {whole:.3f} s", file=sys.stderr, flush=True)
    return {"frame": median(frames), "clip": whole, "kept": stream.kept_bytes, "peak": peak}


def _row(rounds: list[dict[str, Any]], seen: int) -> Row:
    peaks = [one["peak"] for one in rounds if one["peak"] is not None]
    return {
        "seen": seen,
        "frame_seconds": median(one["frame"] for one in rounds),
        "clip_seconds": median(one["clip"] for one in rounds),
        "ratio": median(one["clip"] / one["frame"] for one in rounds),
        "kept_bytes": rounds[-1]["kept"],
        "peak_bytes": median(peaks) if peaks else None,
    }


def tables(result: Result) -> Iterator[Table]:
    """The result as a table."""
    header = ["frames seen", "s per frame", "s per clip", "clip / frame", "kept MiB", "peak MiB"]
    body = [
        [
            str(row["seen"]),
            f"{row['frame_seconds']:.4f}",
            f"{row['clip_seconds']:.4f}",
            f"{row['ratio']:.2f}",
            f"{row['kept_bytes'] / 2**20:.3f}",
            number(row, "peak_bytes", ".1f", 2**20),
        ]
        for row in result["rows"]
    ]
    title = (
        f"causal X-ViT-{result['size']}/16, t_w = {result['window']}, {result['ta_layers']} TA layers, clips of "
        f"{result['frames']} frames, {result['image_size']} px, float32, {result['device']}"
    )
    growth = result["rows"][0]["ratio"] / result["rows"][-1]["ratio"]
    yield Table(title, header, body, [
        "medians of each quarter of the video; clip / frame: the network on the last clip over the stream",
        "kept: between frames; peak: what computing a frame takes beside weights and what is kept",
        f"time per frame over that of a clip, last quarter over first: {growth:.3f}",
    ])  # fmt: skip


def main() -> int:
    """Stream a video of noise."""
    made = parser("stream", __doc__)
    add_size(made, batch=None)
    made.add_argument("--length", type=int, default=64, help="frames of the video (default 64)")
    made.add_argument("--window", type=int, default=1, help="t_w")
    made.add_argument("--ta-layers", type=int, default=1, help="0 is averaging")
    given = made.parse_args()
    if given.length < SECTIONS * given.frames:
        made.error(f"--length is at least {SECTIONS} clips, {SECTIONS * given.frames} frames")
    measurement, size, side = Measurement("stream", given), SIZES[given.size], given.image_size
    network = xvit(
        size,
        CLASSES,
        ClipSize((side, side), frames=given.frames),
        MixingPlan(given.window, causal=True),
        aggregate=aggregation(size, CLASSES, given.ta_layers),
        positions=Positions("space"),
    )
    clip = torch.randn(1, 3, given.frames, side, side, device=measurement.device)
    measurement.rows.extend(measure(network.eval().to(clip.device), clip, given.length // given.frames))
    return measurement.show(tables)


if __name__ == "__main__":
    ran(main)
