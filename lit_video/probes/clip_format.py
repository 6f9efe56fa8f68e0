"""Clips that a frozen model takes, and where each of their settings comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lit_video.errors import OptionError
from lit_video.utils.clip_shape import PerChannel, height_and_width, per_channel
from lit_video.video.batch import Channels

NAMES = ("num_frames", "image_size", "mean", "std")
FEWEST_FRAMES = 2  # a single frame has no direction
LEAST_STD = 1e-6


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
    name: str, given: Mapping[str, Any], known: Mapping[str, Any], origin: str, *, channels: Channels = "rgb"
) -> ClipFormat:
    """Return a model's clips: the user's settings, else those that are known of the model.

    Args:
        name: the model, for messages.
        given: the user's settings by name; ``None`` where there is none.
        known: settings that the model's source tells; others are left out, or ``None``.
        origin: source of ``known`` in words.
        channels: order of the channels.

    Raises:
        OptionError: a setting is neither given nor known, or is impossible.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in NAMES:
        if given.get(setting) is not None:
            values[setting] = given[setting]
            origins[setting] = "as given"
        elif known.get(setting) is not None:
            values[setting] = known[setting]
            origins[setting] = origin

    missing = [setting for setting in NAMES if setting not in values]
    if missing:
        raise OptionError(", --".join(missing), f"{name} does not tell; give the values with which it was trained")

    num_frames = values["num_frames"]
    if not isinstance(num_frames, int) or isinstance(num_frames, bool) or num_frames < FEWEST_FRAMES:
        raise OptionError("num_frames", f"is {num_frames}, expected a whole number from {FEWEST_FRAMES}")
    return ClipFormat(
        num_frames,
        _checked("image_size", height_and_width, values["image_size"]),
        _checked("mean", lambda value: per_channel("mean", value), values["mean"]),
        std=_checked("std", lambda value: per_channel("std", value, LEAST_STD), values["std"]),
        channels=channels,
        origins=origins,
    )


def _checked(name: str, convert: Any, value: object) -> Any:
    try:
        return convert(list(value) if isinstance(value, Sequence) else value)
    except (TypeError, ValueError) as error:
        raise OptionError(name, error) from error
