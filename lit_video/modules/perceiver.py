"""A Perceiver bottleneck as a LightningModule."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from typing import Any

from lit_video.modules.classifier import VideoClassifier, check_model
from lit_video.network.embedding import ClipSize, Embedding
from lit_video.network.parts import Aggregation, Parts, Readout
from lit_video.network.perceiver import perceiver
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import SizeName, ViTSize, vit_size
from lit_video.utils.arguments import Count, Share, ShareBelowOne
from lit_video.utils.classes import Classes, outputs
from lit_video.utils.clip_shape import ImageSize, height_and_width


class Perceiver(VideoClassifier):
    """Perceiver bottleneck: latents read the clip's tokens and attend to each other (arXiv:2103.03206).

    Args:
        size: ``Ti``, ``S``, ``B``, ``L``, ``H``, or embed_dim, depth (layers among the latents) and num_heads.
        patch_size: side of a patch in pixels.
        tubelet_size: frames of a tubelet.
        num_latents: number of latents (at most 512 in the Perceiver).
        reads: how often the latents read the tokens, with an equal share of the layers after each read.
        dropout: before the classifier.
        drop_path_rate: stochastic depth of the last layer.
        embedding: class of your own in place of JointEmbedding, ``FILE.py:CLASS`` on the command line (docs/adding.md).
        readout: class of your own, a subclass of :class:`~lit_video.network.parts.Readout`.
        aggregation: class of your own, a subclass of :class:`~lit_video.network.parts.Aggregation`.
        **kwargs: see :class:`VideoClassifier`.
    """

    network: VideoTransformer

    def __init__(
        self,
        num_classes: Classes,
        num_frames: Count = 8,
        image_size: ImageSize = 224,
        *,
        size: SizeName | ViTSize = "B",
        patch_size: Count = 16,
        tubelet_size: Count = 1,
        num_latents: Count = 256,
        reads: Count = 1,
        dropout: Share = 0.0,
        drop_path_rate: ShareBelowOne = 0.0,
        embedding: str | type[Embedding] | None = None,
        readout: str | type[Readout] | None = None,
        aggregation: str | type[Aggregation] | None = None,
        **kwargs: Any,
    ) -> None:
        check_model(locals())
        vit = vit_size(size)
        clip = ClipSize(height_and_width(image_size), patch_size, num_frames, tubelet_size=tubelet_size)

        network = perceiver(
            vit,
            outputs(num_classes),
            clip,
            num_latents=num_latents,
            reads=reads,
            dropout=dropout,
            drop_path_rate=drop_path_rate,
            parts=Parts.of(embedding=embedding, readout=readout, aggregation=aggregation),
        )
        super().__init__(network, num_classes=num_classes, **kwargs)
