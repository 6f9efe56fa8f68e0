"""Clips that a frozen model takes, and where each of their settings comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lit_video.errors import OptionError
from lit_video.utils.clip_shape import PerChannel, height_and_width, per_channel
from lit_video.video.batch import Channels

NAMES = ("num_frames", "image_size", "mean", "std")
FEWEST_FRAMES = 2  # a single frame has no direction
POSITIVE_STD = 1e-6  # pixels are divided by it


@dataclass(frozen=True)
class ClipFormat:
    """Shape and normalisation of a model's clips."""

    num_frames: int
    image_size: tuple[int, int]  # height and width in pixels
    mean: PerChannel  # mean of pixels from 0 to 1
    std: PerChannel
    channels: Channels = "rgb"
    origins: Mapping[str, str] = field(default_factory=dict)  # by setting: where its value comes from

    def __str__(self) -> str:
        height, width = self.image_size
        lines = [f"clips of {self.num_frames} frames, {height} x {width} pixels", f"mean {self.mean}, std {self.std}"]
        by_origin: dict[str, list[str]] = {}
        for name, origin in self.origins.items():
            by_origin.setdefault(origin, []).append(name)
        lines += [f"{', '.join(names)}: {origin}" for origin, names in by_origin.items()]
        return "; ".join(lines)

    @property
    def key(self) -> tuple[object, ...]:
        """Values that determine the model's input."""
        return self.num_frames, self.image_size, self.mean, self.std, self.channels


def clip_format(
    name: str, options: Mapping[str, Any], own: Mapping[str, Any], *, origin: str, channels: Channels = "rgb"
) -> ClipFormat:
    """Return a model's clips: the user's settings, and the model's own where the user gives none.

    Args:
        name: the model, for messages.
        options: the user's settings by name; ``None`` where the user gives none.
        own: the model's settings, as far as its source tells them; ``None`` for others.
        origin: source of ``own`` in words.
        channels: order of the channels.

    Raises:
        OptionError: a setting is in neither, or is impossible.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in NAMES:
        if options.get(setting) is not None:
            values[setting] = options[setting]
            origins[setting] = "as given"
        elif own.get(setting) is not None:
            values[setting] = own[setting]
            origins[setting] = origin

    missing = [setting for setting in NAMES if setting not in values]
    if missing:
        raise OptionError(", ".join(missing), f"{name} does not tell; give the values with which it was trained")

    num_frames = values["num_frames"]
    if not isinstance(num_frames, int) or isinstance(num_frames, bool) or num_frames < FEWEST_FRAMES:
        raise OptionError("num_frames", f"is {num_frames}, expected a whole number from {FEWEST_FRAMES}")
    return ClipFormat(
        num_frames,
        _checked("image_size", height_and_width, values["image_size"]),
        _checked("mean", lambda value: per_channel("mean", value), values["mean"]),
        std=_checked("std", lambda value: per_channel("std", value, POSITIVE_STD), values["std"]),
        channels=channels,
        origins=origins,
    )


def _checked(name: str, convert: Any, value: object) -> Any:
    try:
        return convert(list(value) if isinstance(value, Sequence) else value)
    except (TypeError, ValueError) as error:
        raise OptionError(name, error) from error
