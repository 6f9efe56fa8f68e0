"""A causal X-ViT on a long video: time and memory per frame as the video grows, beside a clip for every frame."""

import sys
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from typing import Any

import torch

from lit_video.attention import MixingPlan
from lit_video.benchmark.models import CLASSES
from lit_video.benchmark.timing import peak_memory, seconds
from lit_video.network.patches import ClipSize
from lit_video.network.positions import Positions
from lit_video.network.streaming import Stream
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import SIZES, SizeName
from lit_video.network.xvit import aggregation, xvit
from lit_video.utils.environment import provenance
from lit_video.utils.text_tables import text_table

SECTIONS = 4


@dataclass(frozen=True)
class Setting:
    """What is streamed: a video of ``length`` frames through an X-ViT for clips of ``frames``."""

    size: SizeName = "B"
    frames: int = 8
    length: int = 64
    image_size: int = 224
    window: int = 1
    ta_layers: int = 1

    def network(self) -> VideoTransformer:
        """What streams, drawn anew.

        Raises:
            ValueError: the window is too large for the channels of a head.
        """
        torch.manual_seed(0)
        size, side = SIZES[self.size], self.image_size
        return xvit(
            size,
            CLASSES,
            ClipSize((side, side), frames=self.frames),
            MixingPlan(self.window, causal=True),
            aggregate=aggregation(size, CLASSES, self.ta_layers),
            positions=Positions("space"),
        )


def measure(setting: Setting, network: VideoTransformer, device: torch.device, command: str) -> dict[str, Any]:
    """Stream a video and, after every ``frames`` frames, run the network on the last clip: what a frame costs without.

    A row is a quarter of the video. Both stand in one round, so that their ratio does not depend on the machine's
    load; ``growth`` is the time per frame, in clips, of the last quarter over that of the first.
    """
    network.eval().to(device)
    clip = torch.randn(1, 3, setting.frames, setting.image_size, setting.image_size, device=device)
    stream = Stream(network)
    for _ in range(2):  # the first rounds warm up
        stream(clip[:, :, :1])
    with torch.inference_mode():
        network(clip)
    stream.reset()
    count = setting.length // setting.frames
    rounds = [_round(stream, clip, device, f"round {i + 1} of {count}") for i in range(count)]
    each = len(rounds) // SECTIONS
    rows = [_row(rounds[: each * (i + 1)][-each:], setting.frames * each * (i + 1)) for i in range(SECTIONS)]
    measured = {"rows": rows, "growth": rows[0]["ratio"] / rows[-1]["ratio"]}
    return provenance(command, device) | asdict(setting) | measured


def _round(stream: Stream, clip: torch.Tensor, device: torch.device, name: str) -> dict[str, Any]:
    """As many frames as a clip has, one at a time, then the clip."""
    network = stream.network
    frames = [seconds(partial(stream, frame), device) for frame in torch.split(clip, 1, dim=2)[1:]]
    with peak_memory(device) as peak:
        frames.append(seconds(lambda: stream(clip[:, :, :1]), device))
    with torch.inference_mode():
        whole = seconds(lambda: network(clip), device)
    kept = stream.kept_bytes
    print(f"{name}: a frame {median(frames):.3f} s, a clip {whole:.3f} s", file=sys.stderr, flush=True)
    return {"frame": median(frames), "clip": whole, "kept": kept, "peak": peak[0] if peak else None}


def _row(rounds: list[dict[str, Any]], seen: int) -> dict[str, Any]:
    peaks = [one["peak"] for one in rounds if one["peak"] is not None]
    return {
        "seen": seen,
        "frame_seconds": median(one["frame"] for one in rounds),
        "clip_seconds": median(one["clip"] for one in rounds),
        "ratio": median(one["clip"] / one["frame"] for one in rounds),
        "kept_bytes": rounds[-1]["kept"],
        "peak_bytes": median(peaks) if peaks else None,
    }


def render(result: dict[str, Any]) -> str:
    """The result as a table."""
    header = ["frames seen", "s per frame", "s per clip", "clip / frame", "kept MiB", "peak MiB"]
    body = [
        [
            str(row["seen"]),
            f"{row['frame_seconds']:.4f}",
            f"{row['clip_seconds']:.4f}",
            f"{row['ratio']:.2f}",
            f"{row['kept_bytes'] / 2**20:.3f}",
            "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 2**20:.1f}",
        ]
        for row in result["rows"]
    ]
    title = (
        f"causal X-ViT-{result['size']}/16, t_w = {result['window']}, {result['ta_layers']} TA layers, clips of "
        f"{result['frames']} frames, {result['image_size']} px, float32, {result['device']}"
    )
    legend = (
        "medians of each quarter of the video; clip / frame: the network on the last clip, for every frame, over the "
        "stream;\nkept: between frames; peak: what computing a frame takes beside weights and what is kept\n"
        f"time per frame over that of a clip, last quarter over first: {result['growth']:.3f}"
    )
    return text_table(title, header, body) + "\n" + legend
