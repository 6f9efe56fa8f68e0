"""TimeSformer as a LightningModule."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from typing import Any

from lit_video.attention import Scheme
from lit_video.modules.classifier import VideoClassifier, check_model
from lit_video.network.embedding import ClipSize, Embedding
from lit_video.network.parts import Aggregation, Parts, Readout
from lit_video.network.positions import PositionKind, Positions
from lit_video.network.timesformer import timesformer, usual_positions
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import SizeName, ViTSize, vit_size
from lit_video.utils.arguments import Count, Positive, Share, ShareBelowOne
from lit_video.utils.classes import Classes, outputs
from lit_video.utils.clip_shape import ImageSize, height_and_width


class TimeSformer(VideoClassifier):
    """TimeSformer: five ways to attend over space and time (arXiv:2102.05095).

    The paper's models differ only in clip size: 8 frames of 224 pixels (base), 16 of 448 (HR), 96 of 224 (L).

    Args:
        size: ``Ti``, ``S``, ``B``, ``L``, ``H``, or embed_dim, depth and num_heads.
        patch_size: side of a patch in pixels.
        attention_type: ``space`` (S), ``joint`` (ST), ``divided`` (T+S), ``local_global`` (L+G), ``axial`` (T+W+H);
            Table 1. A class of your own is given like ``readout`` (docs/adding.md).
            ``sliding_global`` is L+G by another reading of the text, see :class:`~lit_video.attention.SlidingGlobal`;
            ``space_before_time`` and ``parallel`` are T+S in another order (section 4.7).
        positions: ``none``, ``space`` or ``space-time`` (Table 4); ``None``: as released, ``space`` for ``space`` and
            ``space-time`` for all other schemes.
        dropout: before the classifier.
        drop_path_rate: stochastic depth of the last layer (0.1 in the released code).
        position_std: spread of the initial positions; ``None`` for 0.02 in space and zeros in time (released code).
        cls_in_time: whether the class token is a key in the time step of divided attention, as in Eq. 11; in the
            released code it is not.
        hidden_head: whether the classifier has a hidden layer, as the paper says; in the released code it is one linear
            layer.
        embedding: class of your own, ``FILE.py:CLASS`` on the command line; extends that of the scheme,
            ClipEmbedding or FrameEmbedding (docs/adding.md).
        readout: class of your own, a subclass of :class:`~lit_video.network.parts.Readout`.
        aggregation: class of your own, a subclass of :class:`~lit_video.network.parts.Aggregation`.
        image_weights: image ViT to start from: file or folder with timm's names, ``timm:NAME``, or ``stills:N``;
            attention over time starts from the image model's attention, but adds nothing at first.
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
        attention_type: str | type[Scheme] = "divided",
        positions: PositionKind | None = None,
        dropout: Share = 0.0,
        drop_path_rate: ShareBelowOne = 0.0,
        position_std: Positive | None = None,
        cls_in_time: bool = False,
        hidden_head: bool = False,
        # parts of the user's own
        embedding: str | type[Embedding] | None = None,
        readout: str | type[Readout] | None = None,
        aggregation: str | type[Aggregation] | None = None,
        # start
        image_weights: str | None = None,
        **kwargs: Any,
    ) -> None:
        check_model(locals())
        vit = vit_size(size)
        clip = ClipSize(height_and_width(image_size), patch_size, num_frames)
        table = Positions(positions or usual_positions(attention_type), position_std)
        network = timesformer(
            vit,
            outputs(num_classes),
            clip,
            attention_type=attention_type,
            positions=table,
            dropout=dropout,
            drop_path_rate=drop_path_rate,
            cls_in_time=cls_in_time,
            hidden_head=hidden_head,
            parts=Parts.of(embedding=embedding, readout=readout, aggregation=aggregation),
        )
        super().__init__(network, num_classes=num_classes, **kwargs)

        self.image_weights = image_weights
        self.size = vit
        self.attention_type: str = self.hparams["attention_type"]

    @property
    def scheme_name(self) -> str:
        """Name in comparisons: ``TimeSformer divided``, ``TimeSformer local-global``, ..."""
        return f"TimeSformer {self.attention_type.replace('_', '-')}"
