"""AutoAugment and RandAugment after the crop, on the batch's device: drawn per clip, applied by torchvision's kernels.

A worker draws with the policies' own code, which records instead of changing pixels; the operations of a batch that are
equal, strength included, then run once for all their clips. So AutoAugment and RandAugment of torchvision are on a CPU
bit by bit what the worker would do itself. Timm's and ViViT's, which change Pillow's pictures there, have the same
operations with the same draws; pixels differ by rounding, interpolation is bilinear, and ``timm-v0``, which otherwise
comes before the crop, comes after it.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import torch
from PIL import Image
from timm.data.auto_augment import AugmentOp
from torch import Tensor
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.v2 import functional as F

from lit_video.video.auto_augment import GREY, Policy, cutout_box, timm_v0, vivit_ops, vivit_rand

MOST = 2  # operations of a clip
NUMBERS = 4  # that an operation has at most
Op = tuple[str, tuple[float, ...]]  # its name, and its numbers: strength, place
_FILL = [float(GREY)] * 3


class SharedOp(NamedTuple):
    """An operation of some of a batch's clips: its name in ``KERNELS``, its numbers, and the clips', ``(n,)``."""

    name: str
    numbers: tuple[float, ...]
    clips: Tensor


Plan = list[SharedOp]  # in the order in which they are applied


class PolicyDraws:
    """Draws clips' operations from the global streams, as the policy itself does; ``size`` is (height, width)."""

    def __init__(self, policy: Policy, size: tuple[int, int]) -> None:
        self.policy = policy
        self.size = size
        self._drawn: list[Op] = []

    def __call__(self) -> Tensor:
        """Of one clip: see :func:`encoded`."""
        self._drawn.clear()
        self._run()
        return encoded(self._drawn)

    @cached_property  # not when it is made: spawned workers are given what can be pickled
    def _run(self) -> Callable[[], object]:
        return _recording(self.policy, self.size, self._drawn)


def encoded(ops: Sequence[Op] = ()) -> Tensor:
    """Operations of a clip as numbers, which loaders put together to batches.

    Returns:
        ``(MOST, 1 + NUMBERS)`` in float64: the operation's place in ``KERNELS``, -1 for none, and its numbers.
    """
    table = torch.zeros(MOST, 1 + NUMBERS, dtype=torch.float64)
    table[:, 0] = -1
    for row, (name, numbers) in zip(table, ops, strict=False):
        row[: 1 + len(numbers)] = torch.tensor([_NAMES.index(name), *numbers], dtype=torch.float64)
    return table


def planned(tables: Tensor) -> Plan:
    """The operations of a batch ``(b, MOST, 1 + NUMBERS)``, equal ones together."""
    plan: Plan = []
    for step in tables.unbind(1):
        clips: dict[tuple[float, ...], list[int]] = defaultdict(list)
        for clip, row in enumerate(step.tolist()):
            if row[0] >= 0:
                clips[tuple(row)].append(clip)
        plan += [SharedOp(_NAMES[int(row[0])], row[1:], torch.tensor(those)) for row, those in clips.items()]
    return plan


def apply(clips: Tensor, plan: Plan) -> Tensor:
    """Change uint8 clips ``(b, ..., 3, height, width)`` as planned; they themselves stay as they are."""
    clips = clips.clone()
    for op in plan:
        clips[op.clips] = KERNELS[op.name](clips[op.clips], op.numbers)
    return clips


def _recording(policy: Policy, size: tuple[int, int], drawn: list[Op]) -> Callable[[], object]:
    """A policy that adds what it would do to a list, and does nothing."""
    if policy in ("auto", "rand"):

        def keep(image: Tensor, name: str, strength: float, **_: object) -> Tensor:
            drawn.append((name, (strength,)))
            return image

        torchvisions = v2.AutoAugment() if policy == "auto" else v2.RandAugment()
        torchvisions._apply_image_or_video_transform = keep
        return partial(torchvisions, torch.zeros((), dtype=torch.uint8).expand(3, *size))
    image = Image.new("RGB", size[::-1])
    if policy == "timm-v0":
        auto = timm_v0()
        for op in (op for pair in auto.policy for op in pair):  # type: ignore[attr-defined]
            _record(op, drawn)
        return partial(auto, image)
    if policy == "vivit-rand":
        ops = vivit_ops()
        for op in ops:
            _record(op, drawn)
        return partial(vivit_rand(ops, partial(_record_cutout, drawn)), image)
    return lambda: None


def _record(op: AugmentOp, drawn: list[Op]) -> None:
    def keep(image: Image.Image, *numbers: float, **_: object) -> Image.Image:
        drawn.append((f"timm {op.name}", tuple(map(float, numbers))))
        return image

    op.aug_fn = keep


def _record_cutout(drawn: list[Op], image: Image.Image) -> Image.Image:
    drawn.append(("cutout", tuple(map(float, cutout_box(image.size)))))
    return image


Kernel = Callable[[Tensor, Sequence[float]], Tensor]
_TORCHVISION = v2.RandAugment(interpolation=InterpolationMode.BILINEAR, fill=GREY)


def _torchvision(name: str) -> Kernel:
    """An operation of torchvision's policies, by its name there."""

    def kernel(clips: Tensor, numbers: Sequence[float]) -> Tensor:
        bilinear, fill = _TORCHVISION.interpolation, _TORCHVISION._fill
        changed: Tensor = _TORCHVISION._apply_image_or_video_transform(clips, name, numbers[0], bilinear, fill)
        return changed

    return kernel


def _shifted(clips: Tensor, numbers: Sequence[float]) -> Tensor:
    """Timm's ``TranslateYRel``: the row ``y`` shows what was ``numbers[0]`` of the height below it."""
    down = round(numbers[0] * clips.shape[-2])
    return F.affine(clips, 0.0, [0, -down], 1.0, [0.0, 0.0], fill=_FILL)


def _solarize_add(clips: Tensor, numbers: Sequence[float]) -> Tensor:
    brighter = (clips.to(torch.int16) + int(numbers[0])).clamp_(max=255).to(torch.uint8)
    return torch.where(clips < 128, brighter, clips)


def _cut_out(clips: Tensor, numbers: Sequence[float]) -> Tensor:
    left, top, right, bottom = map(int, numbers)
    clips[..., top:bottom, left:right] = 0
    return clips


_SAME = ("AutoContrast", "Equalize", "Invert", "Rotate", "ShearX", "ShearY")  # by both libraries, from the same numbers
KERNELS: dict[str, Kernel] = {
    **{name: _torchvision(name) for name in v2.AutoAugment._AUGMENTATION_SPACE},
    "Identity": lambda clips, numbers: clips,
    **{f"timm {name}": _torchvision(name) for name in _SAME},
    "timm TranslateYRel": _shifted,
    "timm Posterize": lambda clips, numbers: F.posterize(clips, int(numbers[0])),
    "timm Solarize": lambda clips, numbers: F.solarize(clips, numbers[0]) if numbers[0] < 256 else clips,
    "timm SolarizeAdd": _solarize_add,
    "timm Color": lambda clips, numbers: F.adjust_saturation(clips, numbers[0]),
    "timm Contrast": lambda clips, numbers: F.adjust_contrast(clips, numbers[0]),
    "timm Brightness": lambda clips, numbers: F.adjust_brightness(clips, numbers[0]),
    "timm Sharpness": lambda clips, numbers: F.adjust_sharpness(clips, numbers[0]),
    "cutout": _cut_out,
}
_NAMES = list(KERNELS)
