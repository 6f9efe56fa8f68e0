"""ViViT as a LightningModule."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from typing import Any, Literal

from torch import nn

from lit_video.attention.factorised import StepOrder
from lit_video.modules.classifier import VideoClassifier, check_model
from lit_video.network.embedding import ClipSize, Embedding
from lit_video.network.parts import Aggregation, Parts, Readout
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import SizeName, ViTSize, vit_size
from lit_video.network.vivit import Pool, Temporal, vivit
from lit_video.utils.arguments import Count, Layers, Positive, Share, ShareBelowOne
from lit_video.utils.classes import Classes, outputs
from lit_video.utils.clip_shape import ImageSize, height_and_width
from lit_video.weights.image_vit import TubeletInit


class ViViT(VideoClassifier):
    """ViViT: tubelets, and four ways to factorise space and time (arXiv:2103.15691).

    Args:
        size: ``Ti``, ``S``, ``B``, ``L``, ``H``, or embed_dim, depth and num_heads.
        patch_size: side of a tubelet in pixels.
        tubelet_size: frames of a tubelet ("16x2" is patch 16, tubelet 2).
        sampled_frames: uniform frame sampling (section 3.2): use this many of the clip's frames; ``tubelet_size`` is 1.
        variant: the paper's model: 1 joint attention, 2 factorised encoder, 3 factorised self-attention, 4 factorised
            dot-product attention (Table 2).
        pool: ``token`` or ``mean``; ``None``: the paper's choice, ``token`` in variants 1 and 2, ``mean`` in 3 and 4.
            ``fc_norm`` is VideoMAE's: the mean before the last norm, fixed sinusoidal positions, the exact GELU.
        order: ``space_time`` or ``time_space``; variant 3 only.
        temporal: ``encoder`` or, as a spatial-only baseline, ``mean`` over frames; variant 2 only.
        temporal_depth: layers of variant 2's temporal encoder, L_t; 0, with ``pool`` ``mean``, is a control for
            attention in time: the mean of frames with positions in time. Models without this encoder are not affected,
            so that a table may give it for all its rows.
        dropout: before the classifier.
        drop_path_rate: stochastic depth of the last layer; as in the released code, a branch that is kept is not
            scaled. The released variant 3 has none (set 0).
        position_std: spread of the first positions in time; ``None`` for none in variants 1, 3 and 4, whose first
            positions are the image model's at all times, and 0.02 in variant 2 (released code): little to tell times
            apart in short trainings. Positions in space are the image model's.
        zero_head: start the classifier at zero, as the released code does, not with a standard deviation of 0.02.
        zero_temporal: start all weights of variant 3's attention in time at zero, as the paper says (section 3.4): no
            gradient then reaches its matrices, and in training no two frames are ever compared. Without it, queries,
            keys and values start from the image model's and the projection from zero, so that training starts from the
            same function and attention in time learns. The other variants are not affected.
        class_token: start of variant 2's class token, which every frame has: ``None`` for the image model's, as the
            spatial encoder is "identical to the one used for image classification" (section 3.3); ``zero`` as in the
            released code, where it has another name than the image model's. The other variants are not affected.
        embedding: class of your own, ``FILE.py:CLASS`` on the command line; extends JointEmbedding, in variant 2
            FrameEmbedding (docs/adding.md).
        readout: class of your own, a subclass of :class:`~lit_video.network.parts.Readout`.
        aggregation: class of your own, a subclass of :class:`~lit_video.network.parts.Aggregation`, in
            place of ``temporal``.
        image_weights: image ViT to start from: file or folder with timm's names, ``timm:NAME``, or ``stills:N``.
        tubelet_init: how tubelets start from an image's patches: ``central`` frame, or ``average`` (Table 1).
        **kwargs: see :class:`VideoClassifier`.
    """

    network: VideoTransformer

    def __init__(
        self,
        num_classes: Classes,
        num_frames: Count = 32,
        image_size: ImageSize = 224,
        *,
        size: SizeName | ViTSize = "B",
        patch_size: Count = 16,
        tubelet_size: Count = 2,
        sampled_frames: Count | None = None,
        # the paper's models
        variant: Literal[1, 2, 3, 4] = 1,
        pool: Pool | None = None,
        order: StepOrder = "space_time",
        temporal: Temporal = "encoder",
        temporal_depth: Layers = 4,
        # regularisation, and first values of the classifier, attention in time and the class token
        dropout: Share = 0.0,
        drop_path_rate: ShareBelowOne = 0.0,
        position_std: Positive | None = None,
        zero_head: bool = False,
        zero_temporal: bool = False,
        class_token: Literal["zero"] | None = None,
        # parts of the user's own
        embedding: str | type[Embedding] | None = None,
        readout: str | type[Readout] | None = None,
        aggregation: str | type[Aggregation] | None = None,
        # start
        image_weights: str | None = None,
        tubelet_init: TubeletInit = "central",
        **kwargs: Any,
    ) -> None:
        check_model(locals())
        if order != "space_time" and variant != 3:
            raise ValueError(f"order is {order}, but variant is {variant}: order is for variant 3")
        if temporal != "encoder" and variant != 2:
            raise ValueError(f"temporal is {temporal}, but variant is {variant}: temporal is for variant 2")
        if zero_head and kwargs.get("probe"):
            raise ValueError("zero_head is true, but a probe takes the classifier's place: set zero_head false")

        vit = vit_size(size)
        clip = ClipSize(
            height_and_width(image_size),
            patch_size,
            num_frames,
            tubelet_size=tubelet_size,
            sampled_frames=sampled_frames,
        )
        network = vivit(
            vit,
            outputs(num_classes),
            clip,
            variant=variant,
            pool=pool,
            order=order,
            zero_temporal=zero_temporal,
            temporal=temporal,
            temporal_depth=temporal_depth,
            position_std=position_std,
            dropout=dropout,
            drop_path_rate=drop_path_rate,
            parts=Parts.of(embedding=embedding, readout=readout, aggregation=aggregation),
        )

        if zero_head:
            classifier = network.get_classifier()
            if not isinstance(classifier, nn.Linear):
                raise ValueError("zero_head is true, but the aggregation has no linear layer called head")
            nn.init.zeros_(classifier.weight)
        if class_token == "zero" and variant == 2:
            network.embed.fresh = ("cls_token",)

        super().__init__(network, num_classes=num_classes, **kwargs)

        self.image_weights = image_weights
        self.size = vit
        self.tubelet_init = tubelet_init
        self.variant = variant
        self.temporal = temporal

    @property
    def scheme_name(self) -> str:
        """Name in comparisons: ``ViViT-1`` to ``ViViT-4``; ``ViViT-2 mean`` without a temporal encoder."""
        name = f"ViViT-{self.variant}"
        return f"{name} mean" if self.temporal == "mean" else name
