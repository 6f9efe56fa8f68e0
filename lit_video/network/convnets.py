"""The papers' CNN baselines, built by PyTorchVideo; they map clips to logits, like the other networks."""

import operator
from types import LambdaType
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

Architecture = Literal["c2d", "i3d", "slow", "slowfast", "slowfast_50_50", "r2plus1d", "csn", "x3d"]
# kernels (time, height, width) of the blocks' first convolutions, a list for each stage, repeated in this order
_I3D = (((3, 1, 1),), ((3, 1, 1), (1, 1, 1)), ((3, 1, 1), (1, 1, 1)), ((1, 1, 1), (3, 1, 1)))
_STILL = ((1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1))
# R101 in the SlowFast paper: 6 of the 23 blocks of res4 have kernels over time
_HALF = (
    ((1, 1, 1), (1, 1, 1), ((3, 1, 1),) * 6 + ((1, 1, 1),) * 17, (3, 1, 1)),
    ((3, 1, 1), (3, 1, 1), ((3, 1, 1),) * 6 + ((1, 1, 1),) * 17, (3, 1, 1)),
)


# settings of create_resnet and of the constructors like it
_RESNETS: dict[str, dict[str, Any]] = {
    "c2d": {"stem_conv_kernel_size": (1, 7, 7), "stage1_pool": nn.MaxPool3d, "stage_conv_a_kernel_size": _STILL},
    "i3d": {"stem_conv_kernel_size": (5, 7, 7), "stage1_pool": nn.MaxPool3d, "stage_conv_a_kernel_size": _I3D},
    "slow": {"stem_conv_kernel_size": (1, 7, 7)},
    "r2plus1d": {},
    "csn": {"stem_pool": nn.MaxPool3d},
}
_SLOWFAST: dict[str, dict[str, Any]] = {"slowfast": {}, "slowfast_50_50": {"stage_conv_a_kernel_sizes": _HALF}}


class TwoPathways(nn.Module):
    """SlowFast network: the fast pathway takes all ``t`` frames, the slow pathway ``t // alpha`` frames.

    Slow frames are evenly spaced from the first to the last frame, rounded down, as in PyTorchVideo and PySlowFast.

    Shape: ``(b, 3, t, height, width)`` -> logits ``(b, classes)``; t a multiple of ``alpha``.
    Source: SlowFast, arXiv:1812.03982, section 3.
    """

    def __init__(self, blocks: nn.ModuleList, alpha: int) -> None:
        super().__init__()
        self.blocks = blocks  # PyTorchVideo's name
        self.alpha = alpha

    def forward(self, clip: Tensor) -> Tensor:
        """Return the logits of a clip."""
        slow = slow_frames(clip.shape[2], self.alpha).to(clip.device, non_blocking=True)
        x: Any = [clip.index_select(2, slow), clip]
        for block in self.blocks:
            x = block(x)
        return x


def slow_frames(num_frames: int, alpha: int) -> Tensor:
    """Return the slow pathway's frame numbers ``(frames // alpha,)``, a tensor so that the network can be exported."""
    if alpha < 1 or num_frames % alpha:
        raise ValueError(f"num_frames {num_frames} is not divisible by alpha {alpha}, fast frames per slow frame")
    return torch.linspace(0, num_frames - 1, num_frames // alpha, device="cpu").long()


def convnet(
    architecture: Architecture,
    classes: int,
    depth: int = 50,
    *,
    width: int | None = None,
    alpha: int = 4,
    beta_inv: int = 8,
    x3d_width: float = 2.0,
    x3d_depth: float = 2.2,
    dropout: float = 0.5,
) -> nn.Module:
    """Build a CNN without softmax, and with global average pooling, so that it takes clips of any size.

    At a model's own clip size, PyTorchVideo's fixed pooling windows give the same output. PyTorchVideo's softmax after
    R(2+1)D and X3D is left out, since cross entropy takes logits. Arguments: see :class:`lit_video.modules.ConvNet`.
    """
    # imported here because the import takes a second and warns
    from pytorchvideo.models import create_csn, create_resnet, create_slowfast, r2plus1d, x3d

    if depth not in (50, 101, 152):
        raise ValueError(f"depth is {depth}, expected 50, 101 or 152")
    if width is not None and width < 1:
        raise ValueError(f"width is {width}, expected at least 1")
    if architecture == "slowfast_50_50" and depth != 101:
        raise ValueError(f"depth is {depth}, but slowfast_50_50 has 101 layers")
    if architecture not in get_args(Architecture):
        raise ValueError(f"architecture is {architecture!r}, expected {', '.join(get_args(Architecture))}")

    stem = width or 64
    shared = {"model_num_class": classes, "dropout_rate": dropout}
    if architecture in _RESNETS:
        constructors = {"csn": create_csn, "r2plus1d": r2plus1d.create_r2plus1d}
        create = constructors.get(architecture, create_resnet)
        network: nn.Module = create(
            **shared,
            **_RESNETS[architecture],
            model_depth=depth,
            stem_dim_out=stem,
            head_pool=nn.AdaptiveAvgPool3d,
            head_activation=None,
        )

    elif architecture in _SLOWFAST:
        if beta_inv < 1 or stem % beta_inv:
            raise ValueError(f"width {stem} is not divisible by beta_inv {beta_inv}, slow channels per fast channel")
        pathways = create_slowfast(
            **shared,
            **_SLOWFAST[architecture],
            model_depth=depth,
            stem_dim_outs=(stem, stem // beta_inv),
            slowfast_channel_reduction_ratio=beta_inv,
            slowfast_fusion_conv_stride=(alpha, 1, 1),
            slowfast_fusion_conv_kernel_size=(7 if depth == 50 else 5, 1, 1),
            head_pool=nn.AdaptiveAvgPool3d,
        )
        network = TwoPathways(pathways.blocks, alpha)

    else:
        pooled = x3d.create_x3d(
            **shared,
            width_factor=x3d_width,
            depth_factor=x3d_depth,
            stem_dim_in=width or 12,
            inner_act=nn.SiLU,  # PyTorchVideo's Swish has the same values, but breaks torch.compile
            head_activation=None,
        )
        pooled.blocks[-1].pool.pool = nn.AdaptiveAvgPool3d(1)
        network = pooled

    _make_portable(network)
    # channels last is faster: 1.1 times (SlowFast) to 4 times (X3D) as many clips/s
    return network.to(memory_format=torch.channels_last_3d)


def _make_portable(network: nn.Module) -> None:
    """Replace what PyTorchVideo leaves in a network that cannot be pickled or compiled; its numbers stay."""
    for module in network.modules():
        if isinstance(module, nn.Conv3d):
            # torch.compile takes NumPy's integers, which PyTorchVideo computes, for unknown numbers
            module.stride = tuple(map(int, module.stride))
        if isinstance(getattr(module, "branch_fusion", None), LambdaType):
            module.branch_fusion = operator.add  # type: ignore[assignment]
