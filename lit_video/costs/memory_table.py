"""Peaks of training steps and the longest clips that fit, of models in both precisions, as a text table."""

from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from typing import Any, get_args

from lit_video.costs.memory import SHARE
from lit_video.costs.peak import MOST, longest_clip, training_peak
from lit_video.modules import VideoClassifier
from lit_video.network.block import Checkpointing, Layer, checkpoint_layers
from lit_video.utils.image_size import ImageSize, height_and_width, in_words
from lit_video.utils.text_tables import text_table

MEMORIES = (24, 80, 141)  # GB of a device
GB = 1e9
PRECISIONS = {"32-true": False, "bf16-mixed": True}
LEGEND = f"""\
Peak of a training step in GB (10^9 bytes), by what it consists of, and the most frames (multiples of 8) whose step
fills {100 * SHARE:.0f} % of a device's memory at most. Predicted from shapes; what is not counted:
lit_video/costs/peak.py."""


def memory_rows(name: str, model: VideoClassifier, clip: tuple[int, ImageSize], batch: int) -> Iterator[dict[str, Any]]:
    """A row for each precision and activation checkpointing of a model, as it is counted.

    Args:
        name: of the model.
        model: on any device.
        clip: frames, and the side in pixels, or height and width.
        batch: clips of a step.
    """
    frames, size = clip
    pixels = height_and_width(size)
    has_layers = any(isinstance(module, Layer) for module in model.network.modules())
    for precision, bfloat16 in PRECISIONS.items():
        for part in get_args(Checkpointing) if has_layers else ("none",):
            checkpoint_layers(model.network, part)

            @cache
            def peak(t: int, bfloat16: bool = bfloat16) -> int:
                return training_peak(model.network, (batch, 3, t, *pixels), model.optimization, bfloat16).total

            counted = training_peak(model.network, (batch, 3, frames, *pixels), model.optimization, bfloat16)
            fits = {memory: longest_clip(peak, SHARE * GB * memory, frames) for memory in MEMORIES}
            shape = {"model": name, "frames": frames, "image_size": size, "batch": batch}
            setting = {"precision": precision, "activation_checkpointing": part}
            yield shape | setting | {"peak": counted.total} | asdict(counted) | {"longest": fits}


def render(rows: list[dict[str, Any]]) -> str:
    """The rows of a model."""
    first = rows[0]
    header = ["precision", "checkpointing", "peak", "weights", "gradients", "optimizer", "activations", "workspace"]
    parts = ["peak", *header[3:]]
    header += [f"frames, {memory} GB" for memory in first["longest"]]
    body = []
    for row in rows:
        sizes = [f"{row[part] / GB:.2f}" for part in parts]
        fits = [f"{frames}{' or more' * (frames == MOST)}" for frames in row["longest"].values()]
        body.append([row["precision"], row["activation_checkpointing"], *sizes, *fits])
    clips = "a clip" if first["batch"] == 1 else f"{first['batch']} clips"
    title = f"{first['model']}: {clips} of {first['frames']} x {in_words(first['image_size'])}"
    return text_table(title, header, body)
