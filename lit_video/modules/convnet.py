"""The papers' CNN baselines as a LightningModule."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from typing import Any, Literal

from lit_video.errors import UserError
from lit_video.modules.classifier import VideoClassifier, check_model
from lit_video.network.convnets import Architecture, convnet, slow_frames
from lit_video.utils.arguments import Count, Positive, Share
from lit_video.utils.classes import Classes, outputs
from lit_video.utils.clip_shape import ImageSize

_NAMES: dict[Architecture, str] = {
    "c2d": "C2D",
    "i3d": "I3D",
    "slow": "Slow",
    "slowfast": "SlowFast",
    "slowfast_50_50": "SlowFast 50-50",
    "r2plus1d": "R(2+1)D",
    "csn": "CSN",
    "x3d": "X3D",
}


class ConvNet(VideoClassifier):
    """CNNs of PyTorchVideo: the baselines of the papers' tables.

    ``weights`` takes PyTorchVideo's released checkpoints (``model_state`` with names ``blocks.*``).

    Args:
        num_classes: classes of the data set; the command line takes it from there.
        num_frames: frames of a clip, or of SlowFast's fast pathway; the command line takes it from the data set.
        image_size: side of a clip in pixels, or (height, width); the command line takes it from the data set.
        architecture: ``c2d``, ``i3d``, ``slow`` (ResNets), ``slowfast``, ``slowfast_50_50`` (depth 101; fewer kernels
            over time), ``r2plus1d``, ``csn`` (depthwise, interaction-reduced) or ``x3d``.
        depth: number of layers: 50, 101 or 152; X3D ignores this.
        width: channels of the stem; ``None`` for the papers' 64 (X3D: 12, times ``x3d_width``).
        alpha: frames of SlowFast's fast pathway per frame of the slow one.
        beta_inv: channels of SlowFast's slow pathway per channel of the fast one.
        x3d_width: X3D's width factor: 2.0 for S, M and L, 2.9 for XL.
        x3d_depth: X3D's depth factor: 2.2 for S and M, 5.0 for L and XL.
        dropout: before the classifier.
        **kwargs: see :class:`VideoClassifier`.
    """

    def __init__(
        self,
        num_classes: Classes,
        num_frames: Count = 8,
        image_size: ImageSize = 224,
        *,
        architecture: Architecture = "i3d",
        depth: Literal[50, 101, 152] = 50,
        width: Count | None = None,
        alpha: Count = 4,
        beta_inv: Count = 8,
        x3d_width: Positive = 2.0,
        x3d_depth: Positive = 2.2,
        dropout: Share = 0.5,
        **kwargs: Any,
    ) -> None:
        check_model(locals())
        if architecture.startswith("slowfast"):
            slow_frames(num_frames, alpha)

        network = convnet(
            architecture,
            outputs(num_classes),
            depth,
            width=width,
            alpha=alpha,
            beta_inv=beta_inv,
            x3d_width=x3d_width,
            x3d_depth=x3d_depth,
            dropout=dropout,
        )
        super().__init__(network, num_classes=num_classes, **kwargs)
        self.architecture = architecture

    def prepare_start(self, stage: str) -> None:
        """Refuse bfloat16 on a CPU: gradients of temporal convolutions may read uninitialised memory."""
        super().prepare_start(stage)
        trains = stage == "fit" and self._trainer is not None
        if trains and self.device.type == "cpu" and str(self.trainer.precision).startswith("bf16"):
            wrong = "gradients of convolutions over few frames are wrong in bfloat16 on a CPU (a fault of PyTorch)"
            raise UserError(f"trainer.precision: {wrong}; train in 32-true, or on a GPU")

    @property
    def scheme_name(self) -> str:
        """Name in comparisons: the architecture as its paper writes it."""
        return _NAMES[self.architecture]
