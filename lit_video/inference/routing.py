"""Attention rollout through any of our modules: how much of a token's output comes from which input token.

The rollout of an attention step with residual is 0.5 (I + A), where A are its weights, averaged over the heads; that of
a network is the product over its steps (arXiv:2005.00928, section 3). Three passes compute it, the same for every
scheme:

1. The network takes the clip, and the weights of every attention are recorded (:class:`Recording`).
2. The *routing network* is run: the same modules, so that tokens are grouped, copied, averaged and shifted exactly as
   in the original, but linear: norms and activations pass their input on, every linear layer takes the mean of its
   channels, MLPs add nothing, attention applies the recorded weights. All its tokens are ones, and every sum is divided
   by its own value. So each token stays one, and each step is a weighted mean of the tokens before it: (I + A) x, with
   rows that sum to one.
3. The gradient of an output by the input tokens then is that output's row of the rollout.

Channels that are read from other frames matter (mixing attention): the value that a head reads consists of channels
of several frames, so that relevance goes to a frame with its share of them. Zeros beyond the clip's ends are no token,
and what is left of the step is what sums to one. Keys that come from other frames act on the weights; as in any
rollout, relevance follows the values.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call
from torch.overrides import TorchFunctionMode

from lit_video.network.block import MLP

POSITIONS = "pos_embed"


class Recording(TorchFunctionMode):
    """Keeps the weights ``(..., a, m, j)`` of every attention in a computation, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: list[Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Write out softmax(q k / sqrt(c)) where the fused attention is called."""
        if func is not F.scaled_dot_product_attention:
            return func(*args, **(kwargs or {}))
        q, k, v, seen = (*args, None)[:4]
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        weights = (scores if seen is None else scores.masked_fill(~seen, -math.inf)).softmax(-1)
        self.weights.append(weights.detach())
        return weights @ v


class Routing(TorchFunctionMode):
    """Makes a computation linear, with recorded attention, and every sum of tokens a weighted mean."""

    def __init__(self, weights: Sequence[Tensor]) -> None:
        super().__init__()
        self.weights: Iterator[Tensor] = iter(weights)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Replace attention, norm and activation; scale sums."""
        if func is F.scaled_dot_product_attention:
            return next(self.weights) @ args[2]
        if func is F.layer_norm or func is F.gelu:
            return args[0]
        out = func(*args, **(kwargs or {}))
        return out / out.detach() if func is torch.Tensor.add else out


def route(module: nn.Module, weights: Sequence[Tensor], *inputs: Any) -> Any:
    """Run a module as a routing network on tokens of ones; the gradient of its output is the rollout."""
    with Routing(weights):
        return functional_call(module, routing_parameters(module), inputs)


def routing_parameters(module: nn.Module) -> dict[str, Tensor]:
    """Parameters of a routing network: linear layers average, MLPs and positions add nothing, learnt tokens are ones.

    The module's own embedding of a clip keeps its parameters, as it takes no part.
    """
    silent = {id(inner) for mlp in module.modules() if isinstance(mlp, MLP) for inner in mlp.modules()}
    parameters: dict[str, Tensor] = {}
    for prefix, inner in module.named_modules():
        for name, parameter in inner.named_parameters(recurse=False):
            path = f"{prefix}.{name}" if prefix else name
            if not path.startswith("embed."):
                parameters[path] = _constant(inner, name, parameter, id(inner) in silent)
    return parameters


def _constant(owner: nn.Module, name: str, parameter: Tensor, silent: bool) -> Tensor:
    value = 1.0
    if silent or name == POSITIONS or (isinstance(owner, nn.Linear) and name == "bias"):
        value = 0.0
    elif isinstance(owner, nn.Linear):
        value = 1 / owner.in_features
    return torch.full((), value, dtype=parameter.dtype, device=parameter.device).expand(parameter.shape)
