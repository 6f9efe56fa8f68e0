"""X-ViT as a LightningModule."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from typing import Any

from lit_video.attention import MixingPlan
from lit_video.attention.mixing import Scope, Summary, Target
from lit_video.modules.classifier import VideoClassifier, check_model
from lit_video.network.aggregation import TAAttention
from lit_video.network.embedding import ClipSize, Embedding
from lit_video.network.parts import Aggregation, Parts, Readout
from lit_video.network.positions import PositionKind, Positions, Resizing
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import SizeName, ViTSize, vit_size
from lit_video.network.xvit import LayerChoice, temporal_aggregation, xvit
from lit_video.utils.arguments import Count, Layers, Positive, Share, ShareBelowOne, Whole
from lit_video.utils.classes import Classes, outputs
from lit_video.utils.clip_shape import ImageSize, height_and_width


class XViT(VideoClassifier):
    """X-ViT: space-time mixing attention, then temporal averaging or temporal attention (arXiv:2106.05968).

    Args:
        size: ``Ti``, ``S``, ``B``, ``L``, ``H``, or embed_dim, depth and num_heads.
        patch_size: side of a patch in pixels.
        window: frames on either side that channels are read from, t_w (Table 1); 0 is spatial-only attention.
        boundary: read channels only from the two frames at distance ``window`` (Table 1, "Bo.").
        ratio: share of channels that comes from other frames, 0 to 1 (Table 2d).
        mixed: tensors that are mixed, out of ``x``, ``key``, ``value``, ``query`` (Table 2c).
        layers: the layers that mix (Table 2a): ``all``, ``first_half``, ``second_half``, ``odd`` or indices from 0.
        scope: ``per_head`` mixes within each head, as in the paper (Eq. 9); ``full`` moves whole heads (released code).
        summary: add the summary tokens of all frames to keys and values (Table 4), or each frame's ``own`` only.
        num_summary_tokens: summary tokens per frame, R in the paper, a square number; each is the mean of a cell.
        summary_before_norm: take means of the previous layer's tokens, before the layer norm, as the paper writes it.
            Models without summary tokens are not affected, so that a recipe may give it for all rows.
        cls_in_summary: average the class token too, as the paper writes it (s = 0, ..., S); with one summary token per
            frame only, because a class token lies in no cell. Models without summary tokens are not affected.
        summary_layers: the mixing layers that have summary tokens, given like ``layers``.
        exact: attend to the window exactly (Eq. 7), which mixing approximates. Of the settings of mixing, only
            ``window``, ``layers`` and ``causal`` apply then.
        causal: read channels of earlier frames only (with ``exact``: attend to no later frame), so that the model can
            follow a stream (:func:`lit_video.stream`); needs ``positions`` ``space`` or ``none``, and an embedding of
            your own that claims to be causal.
        segments: frames per group. Frames mix only within their group, and temporal positions repeat for each group;
            ``None`` for the whole clip, 8 in the released Kinetics recipe with 16 frames.
        ta_layers: layers of temporal attention (Table 2b); 0 is temporal averaging.
        ta_attention: ``cross``: a token z_final attends to the frame tokens, O(T), then a linear classifier, as in the
            paper; ``self``: z_final and the frame tokens attend to each other, then a hidden layer, as released. Models
            without temporal attention are not affected, so that a recipe may give it for all rows.
        positions: ``none``, ``space`` or ``space-time``.
        dropout: dropout of the frame tokens and in a classifier with a hidden layer (0.5 in the released code).
        drop_path_rate: stochastic depth of the last layer.
        position_std: spread of the initial positions; ``None`` for 0.02 in space and zeros in time (released code), so
            small that they hardly change in a training from scratch.
        embedding: class of your own in place of FrameEmbedding, ``FILE.py:CLASS`` on the command line (docs/adding.md).
        readout: class of your own, a subclass of :class:`~lit_video.network.parts.Readout`.
        aggregation: class of your own, a subclass of :class:`~lit_video.network.parts.Aggregation`, in
            place of ``ta_layers``.
        image_weights: image ViT to start from: file or folder with timm's names, ``timm:NAME``, or ``stills:N``.
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
        # mixing of channels
        window: Whole = 1,
        boundary: bool = False,
        ratio: Share = 0.5,
        mixed: tuple[Target, ...] = ("key", "value"),
        layers: LayerChoice | list[Whole] = "all",
        scope: Scope = "per_head",
        # summary tokens
        summary: Summary = False,
        num_summary_tokens: Count = 1,
        summary_before_norm: bool = False,
        cls_in_summary: bool = False,
        summary_layers: LayerChoice | list[Whole] = "all",
        # frames that a frame sees
        exact: bool = False,
        causal: bool = False,
        segments: Count | None = None,
        # aggregation, positions, regularisation
        ta_layers: Layers = 1,
        ta_attention: TAAttention = "self",
        positions: PositionKind = "space-time",
        dropout: Share = 0.5,
        drop_path_rate: ShareBelowOne = 0.0,
        position_std: Positive | None = None,
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
        if exact and (boundary or summary or segments):
            raise ValueError("exact attends the whole window; boundary, summary and segments do not apply to it")
        if segments and num_frames % segments:
            raise ValueError(
                f"num_frames {num_frames} is no multiple of segments {segments}, the temporal positions' length"
            )

        classes = outputs(num_classes)
        clip = ClipSize(height_and_width(image_size), patch_size, num_frames)
        plan = MixingPlan(
            window=window,
            boundary=boundary,
            ratio=ratio,
            mixed=tuple(mixed),
            scope=scope,
            summary=summary,
            num_summary_tokens=num_summary_tokens,
            summary_before_norm=summary_before_norm,
            cls_in_summary=cls_in_summary,
            segment=segments,
            causal=causal,
        )
        resizing = Resizing(time="repeat" if segments else "linear")
        network = xvit(
            vit,
            classes,
            clip,
            plan=plan,
            layers=layers,
            summary_layers=summary_layers,
            exact=exact,
            aggregate=temporal_aggregation(vit, classes, ta_layers, ta_attention=ta_attention, dropout=dropout),
            positions=Positions(positions, position_std, resizing),
            dropout=dropout,
            drop_path_rate=drop_path_rate,
            parts=Parts.of(embedding=embedding, readout=readout, aggregation=aggregation),
        )
        super().__init__(network, num_classes=num_classes, **kwargs)

        self.image_weights = image_weights
        self.size = vit
        self.exact = exact
        self.causal = causal

    @property
    def scheme_name(self) -> str:
        """Name in comparisons: ``X-ViT``, ``X-ViT exact``, ``X-ViT causal``, ``X-ViT exact causal``."""
        words = ["X-ViT"]
        if self.exact:
            words.append("exact")
        if self.causal:
            words.append("causal")
        return " ".join(words)
