"""Attention rollout for any network of this package: the share of each patch in the output of a token.

An attention step with residual and weights A, averaged over the heads, has the rollout 0.5 (I + A). A network's rollout
is the product over its steps (arXiv:2005.00928, section 3). Three passes compute it for any scheme:

1. Run the network on the clip and record the weights of every attention (:class:`Recording`), and the values of every
   softmax and sigmoid elsewhere, by which some schemes weight tokens.
2. Run the *routing network*: the same modules, so that tokens are grouped, copied, averaged and shifted as before, but
   linear. Norms and activations are identities, linear layers average their channels, MLPs add nothing, and attention,
   softmax and sigmoid apply what was recorded. All input tokens are ones, and every sum is divided by its detached
   value. So each token stays one, and each step is a weighted mean of the previous tokens: (I + A) x with rows scaled
   to sum to one.
3. Take the gradient of an output with respect to the input tokens, which is the output's row of the rollout.

In mixing attention a head's value has channels of several frames, so each frame gets its channels' share of relevance.
Zero padding at the clip's ends gets no share; the other shares sum to one. Keys of other frames only change the
weights, because relevance follows the values, as in any rollout.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
import torch.nn.functional as F
from einops.layers.torch import Reduce
from torch import Tensor, nn
from torch.func import functional_call
from torch.overrides import TorchFunctionMode

from lit_video.attention import Grid
from lit_video.network.aggregation import WaveProbe
from lit_video.network.block import MLP
from lit_video.network.embedding import Patches, Prefix
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.clip_shape import uniform_frames

POSITIONS = "pos_embed"
WEIGHTING = ("softmax", "sigmoid")  # functions by which a scheme may weight tokens itself


@dataclass(frozen=True)
class AttentionCall:
    """Arguments of ``F.scaled_dot_product_attention``, by its own names and in its order.

    Raises:
        ValueError: an argument is one that attention maps do not follow.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None = None
    dropout_p: float = 0.0
    is_causal: bool = False
    scale: float | None = None
    enable_gqa: bool = False

    def __post_init__(self) -> None:
        """Refuse dropout, which is random, and heads that share keys."""
        for name in ("dropout_p", "enable_gqa"):
            value = getattr(self, name)
            if value:
                raise ValueError(f"attention maps do not follow scaled_dot_product_attention with {name}={value}")

    def weights(self) -> Tensor:
        """Return softmax(scale q k + mask), ``(..., heads, queries, keys)``; a query without keys has zeros."""
        scale = self.query.shape[-1] ** -0.5 if self.scale is None else self.scale
        scores = scale * self.query @ self.key.mT
        mask = self.attn_mask
        if self.is_causal:
            mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
        return scores.softmax(-1).masked_fill(scores.isneginf().all(-1, keepdim=True), 0.0)


class Recording(TorchFunctionMode):
    """Recorder of attention weights ``(..., heads, queries, keys)``, and of values of softmax and sigmoid, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: list[Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Compute and record the weights in place of the fused attention."""
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            call = AttentionCall(*args, **kwargs)
            self.weights.append(call.weights().detach())
            return self.weights[-1] @ call.value
        if func is F.multi_head_attention_forward:
            raise ValueError("attention maps do not follow nn.MultiheadAttention; use scaled_dot_product_attention")

        out = func(*args, **kwargs)
        if _is_weighting(func):
            self.weights.append(out.detach())
        return out


class Routing(TorchFunctionMode):
    """Mode that makes a computation linear: attention uses recorded weights, and sums of tokens are weighted means."""

    def __init__(self, weights: Sequence[Tensor]) -> None:
        super().__init__()
        self.weights: Iterator[Tensor] = iter(weights)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Replace attention, norm and activation; scale sums."""
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return next(self.weights) @ AttentionCall(*args, **kwargs).value
        if _is_weighting(func):
            return next(self.weights)
        if func is F.layer_norm or func is F.gelu:
            return args[0]
        out = func(*args, **kwargs)
        return out / out.detach() if func is torch.Tensor.add and out.is_floating_point() else out


def _is_weighting(func: Callable[..., Any]) -> bool:
    return getattr(func, "__name__", "") in WEIGHTING


def route(module: nn.Module, weights: Sequence[Tensor], *inputs: Any) -> Any:
    """Run a module as a routing network on tokens of ones; the gradient of its output is the rollout."""
    with Routing(weights):
        return functional_call(module, routing_parameters(module), inputs)


def routing_parameters(module: nn.Module) -> dict[str, Tensor]:
    """Return a routing network's parameters: linear layers average, MLPs and positions add 0, learnt tokens are 1."""
    silent: set[int] = set()
    for mlp in module.modules():
        if isinstance(mlp, MLP):
            silent.update(id(inner) for inner in mlp.modules())

    parameters: dict[str, Tensor] = {}
    for prefix, inner in module.named_modules():
        linear = isinstance(inner, nn.Linear)
        for name, parameter in inner.named_parameters(prefix, recurse=False):
            last = name.rpartition(".")[2]
            adds = last == POSITIONS or (linear and last == "bias")
            if adds or id(inner) in silent:
                value = 0.0
            elif linear:
                value = 1 / parameter.shape[-1]
            else:
                value = 1.0

            if not name.startswith("embed."):  # :func:`rollout` replaces the embedding's output
                parameters[name] = parameter.new_full((), value).expand(parameter.shape)
    return parameters


@dataclass(frozen=True)
class Rollout:
    """Relevance of every patch, and the logits."""

    patches: Tensor  # share of every patch in the output, (t, h, w), at least 0
    other: float  # share of class tokens and other learnt tokens: 1 minus the sum of patches
    logits: Tensor  # (1, classes)


def rollout(network: VideoTransformer, clip: Tensor) -> Rollout:
    """Compute each patch's relevance for a network's output, in eval mode, on a normalised clip ``(1, 3, t, h, w)``.

    The output is the classifier's input: the class token, the mean over the frames' class tokens, or the mean over all
    tokens, after the temporal layers if there are any. Of a probe of waves it is their first, the mean over frames: the
    others weigh frames by both signs, and no share of a frame can be negative.
    """
    # a copy with the same weights: threads that share these do not see its hooks
    weights = chain(network.parameters(), network.buffers())
    network = copy.deepcopy(network, {id(weight): weight for weight in weights})

    outputs: list[tuple[Tensor, Grid]] = []
    with (
        torch.no_grad(),
        Recording() as recording,
        network.embed.register_forward_hook(lambda module, inputs, output: outputs.append(output)),
    ):
        logits = network(clip)

    if isinstance(network.aggregate, WaveProbe):
        network.aggregate = Reduce("b t d -> b d", "mean")

    ((embedded, grid),) = outputs
    ones = torch.ones_like(embedded, requires_grad=True)
    with network.embed.register_forward_hook(lambda module, inputs, output: (ones, grid)):
        try:
            out = route(network, recording.weights, clip)
            if not (out.requires_grad and torch.allclose(out, torch.ones_like(out), atol=1e-3)):
                raise ValueError(f"{type(network).__name__} holds layers that the rollout does not know")
            (shares,) = torch.autograd.grad(out[0, 0], ones)
        except Exception as error:  # a user's scheme may need operations that are replaced here
            raise ValueError(f"the rollout cannot follow the scheme: {error}") from error

    place = patch_places(embedded.shape[1], grid, network.embed.prefix).to(clip.device)
    patches = shares[0].sum(-1)[place].detach()
    return Rollout(patches, 1 - float(patches.sum()), logits)


def patch_places(tokens: int, grid: Grid, prefix: Prefix) -> Tensor:
    """Return each patch's token index ``(t, h, w)`` among a clip's tokens."""
    places = torch.arange(tokens).view(1, tokens, 1)
    return prefix.without(places, grid).reshape(tuple(grid))


def tubelet_frames(patches: Patches, num_frames: int) -> list[list[int]]:
    """Return the frames of each tubelet of a clip; uniform frame sampling skips some."""
    used = uniform_frames(num_frames, patches.sampled_frames or num_frames)  # all frames without sampling
    return [used[i : i + patches.tubelet_size] for i in range(0, len(used), patches.tubelet_size)]
