"""Attention rollout for any network of this package: the share of each patch in the output of a token.

An attention step with residual and weights A, averaged over the heads, has the rollout 0.5 (I + A). A network's rollout
is the product over its steps (arXiv:2005.00928, section 3). Three passes compute it for any scheme:

1. Run the network on the clip and record the weights of every attention, and every other softmax and sigmoid, as of
   TokenLearner (:class:`Recording`).
2. Run the *routing network*: the same modules, so that tokens are grouped, copied, averaged and shifted as before, but
   linear. Norms and activations are identities, linear layers average their channels, MLPs add nothing, and attention,
   softmax and sigmoid give what was recorded. All input tokens are ones, and every sum is divided by its detached
   value. So each token stays one, and each step is a weighted mean of the previous tokens: (I + A) x with rows scaled
   to sum to one.
3. Take the gradient of an output with respect to the input tokens, which is the output's row of the rollout.

In mixing attention a head's value has channels of several frames, so each frame gets its channels' share of relevance.
Zero padding at the clip's ends gets no share; the other shares sum to one. Keys of other frames only change the
weights, because relevance follows the values, as in any rollout.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call
from torch.overrides import TorchFunctionMode

from lit_video.attention import Grid
from lit_video.network.block import MLP
from lit_video.network.patches import Patches
from lit_video.network.transformer import VideoTransformer, prefix_leads_frames
from lit_video.utils.clip_shape import uniform_frames

POSITIONS = "pos_embed"


GATES = frozenset(
    (torch.softmax, F.softmax, Tensor.softmax, torch.sigmoid, F.sigmoid, Tensor.sigmoid)
)  # functions whose outputs weight tokens, besides attention


def attention_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Return softmax(q k / sqrt(c)), ``(..., heads, queries, keys)``, with mask and scale as PyTorch's function."""
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None:
        is_mask = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -math.inf) if is_mask else scores + attn_mask
    return scores.softmax(-1)


def attention_arguments(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return the arguments of a call of ``scaled_dot_product_attention`` by their names.

    Raises:
        ValueError: the call drops weights at random, or has fewer heads of keys than of queries.
    """
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    arguments = dict(zip(names, args, strict=False)) | kwargs
    if arguments.pop("dropout_p", 0.0):
        raise ValueError("the rollout cannot follow a scheme whose attention has dropout_p in eval mode")
    if arguments.pop("enable_gqa", False):
        raise ValueError("the rollout cannot follow a scheme whose attention has enable_gqa")
    return arguments


class Recording(TorchFunctionMode):
    """Recorder of all attention weights ``(..., heads, queries, keys)`` and of other gates, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: list[Tensor] = []
        self.gates: list[Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Compute and record softmax(q k / sqrt(c)) in place of the fused attention, and record gates."""
        if func is F.scaled_dot_product_attention:
            arguments = attention_arguments(*args, **(kwargs or {}))
            value = arguments.pop("value")
            weights = attention_weights(**arguments)
            self.weights.append(weights.detach())
            return weights @ value

        out = func(*args, **(kwargs or {}))
        if func in GATES:
            self.gates.append(out.detach())
        return out


class Routing(TorchFunctionMode):
    """Mode that makes a computation linear: weights and gates are recorded ones, sums of tokens are weighted means."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self.weights: Iterator[Tensor] = iter(recording.weights)
        self.gates: Iterator[Tensor] = iter(recording.gates)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Replace attention, gate, norm and activation; scale sums."""
        if func is F.scaled_dot_product_attention:
            value = attention_arguments(*args, **(kwargs or {}))["value"]
            return next(self.weights) @ value
        if func in GATES:
            return next(self.gates)
        if func is F.layer_norm or func is F.gelu:
            return args[0]
        out = func(*args, **(kwargs or {}))
        return out / out.detach() if func is torch.Tensor.add and out.is_floating_point() else out


def route(module: nn.Module, recording: Recording, *inputs: Any) -> Any:
    """Run a module as a routing network on tokens of ones; the gradient of its output is the rollout."""
    with Routing(recording):
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
    tokens, after the temporal layers if there are any.
    """
    outputs: list[tuple[Tensor, Grid]] = []
    with (
        torch.no_grad(),
        Recording() as recording,
        network.embed.register_forward_hook(lambda module, inputs, output: outputs.append(output)),
    ):
        logits = network(clip)

    ((embedded, grid),) = outputs
    ones = torch.ones_like(embedded, requires_grad=True)
    with network.embed.register_forward_hook(lambda module, inputs, output: (ones, grid)):
        try:
            out = route(network, recording, clip)
            (shares,) = torch.autograd.grad(out[0, 0], ones)
        except Exception as error:  # a user's scheme may need operations that are replaced here
            raise ValueError(f"the rollout cannot follow the scheme: {error}") from error
    if not torch.allclose(out, torch.ones_like(out), atol=1e-3):
        raise ValueError(f"{type(network).__name__} holds layers that the rollout does not know")

    place = patch_places(embedded.shape[1], grid, network.embed.num_prefix_tokens).to(clip.device)
    patches = shares[0].sum(-1)[place].detach()
    return Rollout(patches, 1 - float(patches.sum()), logits)


def patch_places(tokens: int, grid: Grid, prefix: int = 1) -> Tensor:
    """Return each patch's token index ``(t, h, w)``; ``prefix`` learnt tokens lead the clip or each frame."""
    patches = grid.t * grid.h * grid.w
    places = torch.arange(tokens)
    if prefix_leads_frames(tokens, grid, prefix):
        return places.view(grid.t, -1)[:, prefix:].reshape(tuple(grid))
    return places[tokens - patches :].reshape(tuple(grid))


def tubelet_frames(patches: Patches, num_frames: int) -> list[list[int]]:
    """Return the frames of each tubelet of a clip; uniform frame sampling skips some."""
    used = uniform_frames(num_frames, patches.sampled_frames or num_frames)  # all frames without sampling
    return [used[i : i + patches.tubelet_size] for i in range(0, len(used), patches.tubelet_size)]
