"""From features to logits: linear heads and their inputs, X-ViT's temporal attention (TA), ViViT's temporal encoder."""

import math
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lit_video.attention import Attention, Bottleneck, Grid, Joint
from lit_video.network.block import FLAX_STYLE, MLP, Layer, init_flax
from lit_video.network.positions import resize_time
from lit_video.network.transformer import VideoTransformer, all_tokens, frame_means, unwrapped
from lit_video.network.vit import ViTSize, encoder
from lit_video.utils.classes import Classes, outputs

Probe = Literal["attentive", "frames", "waves"]
WAVES = 4  # cosines over time that a probe of waves reads, beside the mean
TAAttention = Literal["self", "cross"]


class LinearHead(nn.Module):
    """A linear classifier of one feature per clip. Shape: ``(b, d) -> (b, classes)``.

    Source: TimeSformer's and ViViT's released code (TimeSformer's paper describes a hidden layer).
    """

    def __init__(self, dim: int, classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(dim, classes)
        nn.init.trunc_normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Classify."""
        return self.head(self.drop(x))


class HiddenHead(LinearHead):
    """A classifier with a hidden layer as wide as the features. Shape: ``(b, d) -> (b, classes)``.

    Source: TimeSformer, arXiv:2102.05095, section 3 ("a 1-hidden-layer MLP"); the paper names no activation.
    """

    def __init__(self, dim: int, classes: int, dropout: float = 0.0) -> None:
        super().__init__(dim, classes, dropout)
        self.hidden = nn.Sequential(nn.Linear(dim, dim), nn.GELU())

    def forward(self, x: Tensor) -> Tensor:
        """Classify."""
        return super().forward(self.hidden(x))


class AttentiveProbe(LinearHead):
    """Attentive probe: one learned query reads all tokens by cross-attention. Shape: ``(b, n, d) -> (b, classes)``.

    With ``num_frames`` the tokens are frame means (``n = num_frames``), and get learned positions that start at zero.

        u' = u + MCA(LN(u), LN(z)),   u'' = u' + MLP(LN(u')),   then a linear classifier     (query u, tokens z)

    Source: V-JEPA, arXiv:2404.08471; its released probe has one such layer, on a frozen encoder.
    Unlike the release, which has no norm on the query: u' = u + MCA(u, LN(z)).
    """

    def __init__(self, dim: int, classes: int, num_heads: int, *, num_frames: int | None = None) -> None:
        super().__init__(dim, classes)
        self.pos_embed = nn.Parameter(torch.zeros(1, num_frames, dim)) if num_frames else None
        self.query_token = nn.Parameter(torch.empty(1, 1, dim))
        nn.init.trunc_normal_(self.query_token, std=0.02)
        self.read = Bottleneck(dim, num_heads)
        self.mlp = MLP(dim)
        init_flax(self.read, dim)
        init_flax(self.mlp, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Classify what the query has read."""
        if self.pos_embed is not None:
            x = x + resize_time(self.pos_embed, x.shape[1])
        u = self.read(self.query_token.expand(x.shape[0], -1, -1), x)
        return super().forward((u + self.mlp(u))[:, 0])


def cosine_waves(x: Tensor) -> Tensor:
    """Return a sequence's mean over time and its first ``WAVES`` coefficients: ``(b, t, d) -> (b, 1 + WAVES, d)``.

    c_k = 1/T sum_t cos(pi k (t + 1/2) / T) x_t,   k = 0, ..., WAVES     (discrete cosine transform)
    """
    frames = x.shape[1]
    times = torch.arange(frames, device=x.device, dtype=x.dtype) + 0.5
    orders = torch.arange(WAVES + 1, device=x.device, dtype=x.dtype)
    waves = torch.cos(math.pi / frames * torch.outer(orders, times))
    return torch.einsum("kt,btd->bkd", waves / frames, x)


def wave_features(x: Tensor) -> Tensor:
    """Return the :func:`cosine_waves` of a sequence, each normalised on its own: ``(b, t, d) -> (b, (1 + WAVES) d)``.

    How a video changes then counts as much as what it shows.
    """
    waves = cosine_waves(x)
    return F.layer_norm(waves, waves.shape[-1:]).flatten(1)


class WaveProbe(LinearHead):
    """A linear classifier of frame means and of their slow waves over time. Shape: ``(b, t, d) -> (b, classes)``.

    It reads the :func:`wave_features`. Not from a paper.
    """

    def __init__(self, dim: int, classes: int) -> None:
        super().__init__((WAVES + 1) * dim, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Classify the normalised waves."""
        return super().forward(wave_features(x))


def put_probe(network: nn.Module, probe: Probe, classes: Classes | None) -> None:
    """Replace a network's classifier by a probe: attentive over all tokens or the frames' mean patches, or of waves."""
    if classes is None or not isinstance(network, VideoTransformer):
        raise ValueError(f"probe is {probe}, but the network has no tokens, or num_classes is missing")

    own = [part for part in network.parts if part != "embedding"]
    if own:
        raise ValueError(f"probe is {probe}, but the network has a {own[0]} of your own: give one of them")

    dim, num_heads = network.size.embed_dim, network.size.num_heads
    if probe == "attentive":
        network.readout = all_tokens
        network.aggregate = AttentiveProbe(dim, outputs(classes), num_heads)
        return

    if any(isinstance(block, Layer) and not block.keeps_patches for block in network.blocks):
        raise ValueError(f"probe is {probe}, but the network's tokens are latents of no frame: give attentive")
    network.readout = partial(frame_means, prefix=network.embed.prefix)
    if probe == "waves":
        network.aggregate = WaveProbe(dim, outputs(classes))
    else:
        network.aggregate = AttentiveProbe(dim, outputs(classes), num_heads, num_frames=network.num_frames)


class TemporalMean(nn.Module):
    """Mean over frames, then a linear classifier. Shape: ``(b, t, d) -> (b, classes)``.

    The order of the frames has no effect. As in the released code, logits are averaged over frames; in eval mode this
    equals the logits of the mean feature, because the classifier is affine.
    Source: X-ViT, arXiv:2106.05968, section 3, option (a).
    """

    def __init__(self, dim: int, classes: int, dropout: float = 0.5) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(dim, classes)
        nn.init.normal_(self.head.weight, std=0.001)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the mean of the frames' logits."""
        return self.head(self.drop(x)).mean(1)


class TemporalLayer(nn.Module):
    """Pre-norm transformer layer over frame tokens: qkv without bias, eps 1e-5, as in the released code."""

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.attn = Attention(dim, num_heads, qkv_bias=False, eps=1e-5)
        self.mlp = MLP(dim, eps=1e-5)

    def forward(self, x: Tensor) -> Tensor:
        """Encode the frames' tokens: ``(b, 1 + t, d) -> (b, 1 + t, d)``."""
        x = x + self.attn(x)
        return x + self.mlp(x)


class TemporalAttention(nn.Module):
    """Temporal attention (TA): a class token and the frame tokens pass through ``depth`` transformer layers.

    z_final = MLPHead(TransformerLayer^depth([z_cls; z_1; ...; z_T])_0).  Shape: ``(b, t, d) -> (b, classes)``.

    TA adds no positions: the order of the frames is known only from their tokens.
    Source: X-ViT, arXiv:2106.05968, section 3, option (b), as in the released code.
    Unlike the paper, whose module is :class:`CrossTemporalAttention`: all tokens attend to all tokens, and the
    classifier has a hidden layer.
    """

    def __init__(
        self, dim: int, classes: int, depth: int, *, num_heads: int, hidden: int | None = None, dropout: float = 0.5
    ) -> None:
        super().__init__()
        hidden = hidden or dim
        self.drop = nn.Dropout(dropout)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))

        self.layers = nn.ModuleList(TemporalLayer(dim, num_heads) for _ in range(depth))
        self.head = nn.Sequential(
            nn.LayerNorm(dim, eps=1e-5),
            nn.Linear(dim, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Classify the sequence of frame tokens."""
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), self.drop(x)), dim=1)
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])


class CrossTemporalLayer(TemporalLayer):
    """Pre-norm transformer layer over z_final and the frame tokens, which alone are keys and values.

    Args:
        dim: channels of a token.
        num_heads: number of heads.
        last: whether only z_final is a query, as nothing reads the frame tokens after the last layer.
    """

    def __init__(self, dim: int, num_heads: int, *, last: bool) -> None:
        super().__init__(dim, num_heads)
        self.queries = slice(0, 1) if last else slice(None)

    def forward(self, x: Tensor) -> Tensor:
        """Encode z_final and the frames' tokens: ``(b, 1 + t, d) -> (b, 1 + t, d)``; the last layer: ``(b, 1, d)``."""
        q, k, v = self.attn.project(self.attn.norm(x)).unbind(-3)
        y = self.attn.attend(q[:, self.queries], k[:, 1:], v[:, 1:])
        x = x[:, self.queries] + y
        return x + self.mlp(x)


class CrossTemporalAttention(nn.Module):
    """Temporal attention (TA): a token z_final attends to the frame tokens, and a linear layer classifies it.

        u' = u + MCA(LN(u), LN([z_1; ...; z_T])),   u'' = u' + MLP(LN(u'))     (u: z_final)

    One layer costs O(T). Shape: ``(b, t, d) -> (b, classes)``.

    With ``depth`` layers, those before the last also let every frame token attend to all frame tokens; z_final is never
    a key. The text gives this case by its cost alone, 2 (L_t - 1) T^2 + T for L_t layers, that of ViViT's model 2.
    TA adds no positions: the order of the frames is known only from their tokens.
    Source: X-ViT, arXiv:2106.05968, section 3, option (b).
    Unlike the released code, :class:`TemporalAttention`: z_final does not attend to itself, and the classifier is
    linear.
    Like the released code, where the paper is silent: z_final starts at zero, queries, keys and values have no bias, a
    norm stands before the classifier, and dropout is applied to the frame tokens.
    """

    def __init__(self, dim: int, classes: int, depth: int, *, num_heads: int, dropout: float = 0.5) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.final_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.layers = nn.ModuleList(CrossTemporalLayer(dim, num_heads, last=i == depth - 1) for i in range(depth))
        self.norm = nn.LayerNorm(dim, eps=1e-5)
        self.head = nn.Linear(dim, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Classify what z_final has read of the frame tokens."""
        x = torch.cat((self.final_token.expand(x.shape[0], -1, -1), self.drop(x)), dim=1)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))


class TemporalEncoder(nn.Module):
    """ViViT's model 2: a second transformer, over frames. Shape: ``(b, t, d) -> (b, classes)``.

    Learned positions are added, layers of joint attention and a final norm follow, and the class token or the mean over
    frames is classified.
    Source: ViViT, arXiv:2103.15691, section 3.3, model 2; norm and positions as in the released code.

    Args:
        size: size of the spatial encoder.
        classes: number of outputs.
        num_frames: number of tubelets along time; positions are interpolated linearly for other numbers, without
            aligned corners, unlike the released code.
        depth: number of layers over time, L_t. With 0 layers no two tubelets are compared, but positions stay: a
            control for attention in time.
        cls: whether a class token is classified, not the mean over frames.
        position_std: spread of the first positions in time.
        dropout: before the classifier.

    Raises:
        ValueError: ``depth`` is 0 with a class token, which would see no frame.
    """

    def __init__(
        self,
        size: ViTSize,
        depth: int,
        classes: int,
        *,
        num_frames: int,
        cls: bool = True,
        position_std: float = 0.02,
        dropout: float = 0.0,
        drop_path_rate: float = 0.0,
    ) -> None:
        super().__init__()
        if cls and not depth:
            raise ValueError("temporal_depth is 0, expected 1 or more for a class token; or set pool to mean")
        self.slots = int(cls)  # class tokens in front of the frames
        self.cls_token = nn.Parameter(torch.zeros(1, 1, size.embed_dim)) if cls else None
        self.pos_embed = nn.Parameter(torch.empty(1, cls + num_frames, size.embed_dim))
        nn.init.normal_(self.pos_embed, std=position_std)

        self.layers = nn.ModuleList()
        if depth:
            over_time = replace(size, depth=depth)
            layers = encoder(
                over_time, lambda i: Joint(size.embed_dim, size.num_heads), drop_path_rate, style=FLAX_STYLE
            )
            self.layers.extend(layers)

        self.norm = nn.LayerNorm(size.embed_dim, eps=size.eps or 1e-6)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(size.embed_dim, classes)
        nn.init.trunc_normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Classify the sequence of frame features."""
        t = x.shape[1]
        if self.cls_token is not None:
            x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        x = x + self.resized(self.pos_embed, t)

        for layer in self.layers:
            x = layer(x, Grid(t, 1, 1))

        x = self.norm(x)
        feature = x.mean(1) if self.cls_token is None else x[:, 0]
        return self.head(self.drop(feature))

    def resized(self, table: Tensor, t: int) -> Tensor:
        """Resize a table like ``pos_embed`` to ``t`` tubelets; the class token's position is kept."""
        return torch.cat((table[:, : self.slots], resize_time(table[:, self.slots :], t)), dim=1)


class NoClassifier(nn.Identity):
    """Features in place of logits, for ``num_classes`` 0: the input of the classifier that was here."""

    def __init__(self, in_features: int) -> None:
        super().__init__()
        self.in_features = in_features
        self.place: Tensor
        self.register_buffer("place", torch.empty(0), persistent=False)  # device and dtype of a new classifier


def last_linear(network: nn.Module) -> Any:
    """Return the last linear layer, see :func:`linear_head`; ``None`` if an aggregation of the user's own has none."""
    network = unwrapped(network)
    last: Any = None
    if isinstance(network, VideoTransformer):
        last = network.get_classifier()
    else:
        blocks = getattr(network, "blocks", None)
        if isinstance(blocks, nn.ModuleList):  # a CNN of PyTorchVideo
            last = getattr(blocks[-1], "proj", None)

    is_linear = isinstance(last, NoClassifier) or (hasattr(last, "in_features") and hasattr(last, "out_features"))
    return last if is_linear else None


def linear_head(network: nn.Module) -> Any:
    """Return the last linear layer; its outputs are the logits, or become them by a mean over frames or pixels.

    Returns:
        A ``nn.Linear``, a layer that stands for one (an adapter of PEFT, which has ``in_features`` and ``out_features``
        too), or :class:`NoClassifier`.
    """
    head = last_linear(network)
    if head is None:
        raise ValueError(f"{type(unwrapped(network)).__name__} ends in no linear layer that is known")
    return head


def replace_head(network: nn.Module, classes: int) -> None:
    """Replace the linear head by a newly initialised one; with 0 classes the network returns features."""
    old = linear_head(network)
    place = old.place if isinstance(old, NoClassifier) else old.weight

    new: nn.Module
    if classes:
        new = nn.Linear(old.in_features, classes, device=place.device, dtype=place.dtype)
        nn.init.trunc_normal_(new.weight, std=0.02)
        nn.init.zeros_(new.bias)
    else:
        new = NoClassifier(old.in_features).to(place.device, place.dtype)

    name = next(name for name, module in network.named_modules() if module is old)
    network.set_submodule(name, new)


class InputsKept(nn.Module):
    """A layer that also keeps the inputs of its calls, see :func:`clip_means`."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.inputs: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        """Call the layer."""
        self.inputs.append(clip_means(self.layer, x))
        return self.layer(x)


def clip_means(layer: nn.Module, x: Tensor) -> Tensor:
    """Average a layer's input over all axes but the batch and the channels: ``(b, d)``.

    A network averages the logits of frames or pixels. The head is affine, so in eval mode these features, times its
    weight and plus its bias, are the logits.
    """
    if isinstance(layer, nn.Conv3d):
        return x.flatten(2).mean(2)
    return x.flatten(1, -2).mean(1) if x.ndim > 2 else x


def keeping_inputs(network: nn.Module, layer: nn.Module) -> tuple[nn.Module, list[Tensor]]:
    """Return a twin of a network that keeps the inputs of one of its layers, and their list, one for each call.

    Nothing is written on the network, as a hook would be: threads that share it get the inputs of their own calls.
    """
    name = next(name for name, module in network.named_modules() if module is layer)
    keeping = InputsKept(layer)
    return with_part(network, name, keeping), keeping.inputs


def with_part(network: nn.Module, name: str, part: nn.Module) -> nn.Module:
    """Return a twin of a network with another part; it shares all other parts, and their weights, with the network.

    The twin is not compiled: compiled code holds the network itself.
    """
    if not name:
        return part
    first, _, rest = name.partition(".")
    if first == "_orig_mod":
        return with_part(network.get_submodule(first), rest, part)
    twin: nn.Module = object.__new__(type(network))
    vars(twin).update(vars(network), _compiled_call_impl=None)
    vars(twin)["_modules"] = network._modules | {first: with_part(network.get_submodule(first), rest, part)}
    return twin
