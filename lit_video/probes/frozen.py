"""A frozen model: the clips that it takes, its function from pixels to features, and checks of what it returns."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from lit_video.errors import OptionError, UserError, fault_of
from lit_video.utils.clip_shape import PerChannel, height_and_width, per_channel
from lit_video.video.batch import Channels, normalise
from lit_video.weights.reading import tensors_digest

NAMES = ("num_frames", "image_size", "mean", "std")
FEWEST_FRAMES = 2  # a single frame has no direction
POSITIVE_STD = 1e-6  # pixels are divided by it
Read = Callable[[Tensor], object]  # normalised clips (b, 3, t, height, width) -> features
FEATURE_SHAPES = "(batch, width), or tokens (batch, tokens, width)"

# How much the features of a clip may differ, as a share of the largest feature: between two equal calls, and between
# the clip alone and beside another one (kernels of bfloat16 depend on the size of the batch)
REPEAT_TOLERANCE = 1e-4
BATCH_TOLERANCE = 3e-2


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


@dataclass(frozen=True)
class ModelOptions:
    """Settings that a user gives for a model: its clips, its weights, its device."""

    num_frames: int | None = None
    image_size: int | Sequence[int] | None = None
    mean: PerChannel | Sequence[float] | None = None
    std: PerChannel | Sequence[float] | None = None
    tokens: bool = False  # read all tokens, by an attentive probe
    random_weights: bool = False  # weights as before any training
    seed: int = 0  # seed of random weights and of the videos
    device: Literal["cpu", "cuda"] | None = None

    @property
    def clip(self) -> Mapping[str, Any]:
        """Settings of the clips by name; ``None`` stands for the model's own."""
        return {name: getattr(self, name) for name in ("num_frames", "image_size", "mean", "std")}


@dataclass(frozen=True)
class FrozenModel:
    """A model that gives features, with the clips that it takes."""

    name: str  # for people, and for the folder of kept features
    read: Read
    clip: ClipFormat
    what: str  # name of the layer that gives the features, in words
    module: nn.Module | None = None  # holds the weights; None for a function
    device: torch.device | None = None  # the clips' device; None for the CPU
    remarks: Sequence[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """Hash of the weights; empty for a function, whose weights are not known."""
        return tensors_digest(self.module.state_dict()) if self.module is not None else ""

    def features(self, clips: Tensor) -> Tensor:
        """Return features ``(b, d)`` or tokens ``(b, n, d)``, on the CPU, for uint8 clips ``(b, t, 3, height, width)``.

        Raises:
            UserError: the model fails, or returns anything else.
        """
        pixels = normalise(clips[:, None], self.clip.mean, self.clip.std, channels=self.clip.channels)
        parameter: Tensor | None = None  # the first floating-point one, which tells the module's device and dtype
        if self.module is not None:
            parameter = next((value for value in self.module.parameters() if value.is_floating_point()), None)
        device = self.device or (parameter.device if parameter is not None else torch.device("cpu"))
        dtype = parameter.dtype if parameter is not None else torch.float32

        try:
            with torch.no_grad():
                output = self.read(pixels.to(device, dtype))
        except Exception as error:  # a user's code raises anything
            shape = "(batch, 3, frames, height, width)"
            hint = "one that takes (batch, frames, 3, height, width) needs clip.transpose(1, 2)"
            raise UserError(
                f"{self.name} fails on clips {tuple(pixels.shape)}, {shape}: {fault_of(error)}; {hint}"
            ) from error

        count = len(clips)
        if not isinstance(output, Tensor):
            raise UserError(f"{self.name} gives a {type(output).__name__}, expected a tensor {FEATURE_SHAPES}")
        if output.ndim not in (2, 3) or len(output) != count or not output.numel():
            raise UserError(f"{self.name} gives {tuple(output.shape)} for {count} clips, expected {FEATURE_SHAPES}")
        if not output.is_floating_point():
            raise UserError(f"{self.name} gives {output.dtype}, expected floating-point features {FEATURE_SHAPES}")

        features = output.detach().cpu()
        if not features.isfinite().all():
            raise UserError(f"{self.name} gives features that are not finite (NaN or infinite)")
        return features

    @contextmanager
    def in_eval_mode(self) -> Any:
        """Put the module into eval mode in a block, then every part back into the mode in which it was."""
        modules = list(self.module.modules()) if self.module is not None else []
        training = [module.training for module in modules]
        if self.module is not None:
            with suppress(NotImplementedError):  # programs of torch.export have one mode
                self.module.eval()
        try:
            yield
        finally:
            for module, was_training in zip(modules, training, strict=True):
                module.training = was_training


def alike(first: Tensor, second: Tensor, tolerance: float) -> bool:
    """Return whether features differ by at most ``tolerance``, as a share of the largest one."""
    if first.shape != second.shape:
        return False
    scale = float(first.abs().max()) or 1.0
    return float((first.float() - second.float()).abs().max()) <= tolerance * scale


def checked_batch(model: FrozenModel, clips: Tensor, most: int) -> tuple[int, Tensor]:
    """Check that a clip's features depend on this clip alone: call a model on it twice, and with another in a batch.

    Args:
        model: the model.
        clips: two clips that differ.
        most: largest number of clips of a call.

    Returns:
        The number of clips of a call, 1 if the model takes a single clip, and the features of the two clips.

    Raises:
        UserError: features change from call to call, or depend on the other clips of a batch.
    """
    first = model.features(clips[:1])
    try:
        both = model.features(clips[:2])
        batch = most
    except UserError:  # a program for a single clip
        both = torch.cat([first, model.features(clips[1:2])])
        batch = 1
    again = model.features(clips[:1])

    if not alike(first, again, REPEAT_TOLERANCE):
        raise UserError(
            f"{model.name} gives other features for the same clip at a second call: dropout in training mode, or a "
            "state between calls; call .eval() on it, or reset the state in the function"
        )
    if not alike(first, both[:1], BATCH_TOLERANCE):
        raise UserError(
            f"{model.name} gives a clip other features beside another clip: batch normalisation in training mode? "
            "call .eval() on it"
        )
    return batch, both
