"""What a ``config.json`` of transformers says that no shape shows, held against a network and its classes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from lit_video.attention import Heads
from lit_video.network.block import MLP

_EXACT, _TANH = ("gelu", "gelu_python"), ("gelu_fast", "gelu_new", "gelu_pytorch_tanh")


def check_config(config: Mapping[str, Any], network: nn.Module) -> None:
    """Refuse a network that computes something else than the model that the configuration describes.

    Args:
        config: of ``TimesformerConfig`` or ``VivitConfig``; keys that it lacks are not looked at.
        network: takes the weights.

    Raises:
        ValueError: activation, epsilon or number of heads differ.
    """
    theirs = config.get("hidden_act")
    gelus = {module.act.approximate for module in network.modules() if isinstance(module, MLP)}
    kind = "none" if theirs in _EXACT else "tanh" if theirs in _TANH else None
    if theirs is not None and gelus and gelus != {kind}:
        ours = "gelu" if gelus == {"none"} else "gelu_fast"
        raise ValueError(f"config.json: hidden_act is {theirs}, this network computes {ours}")
    epsilon = config.get("layer_norm_eps")
    norms = {module.eps for module in network.modules() if isinstance(module, nn.LayerNorm)}
    if epsilon is not None and not all(math.isclose(epsilon, eps, rel_tol=1e-3) for eps in norms):
        raise ValueError(f"config.json: layer_norm_eps is {epsilon:g}, this network has {max(norms):g}")
    heads, number = {m.heads for m in network.modules() if isinstance(m, Heads)}, config.get("num_attention_heads")
    if number is not None and heads and heads != {number}:
        raise ValueError(f"config.json: num_attention_heads is {number}, here {max(heads)}; set --model.size")


def check_labels(labels: Mapping[str, int], class_names: Sequence[str]) -> None:
    """Refuse weights whose classifier has the data's classes in another order.

    Names are compared without case and what stands between words; of names that only one of both has, nothing is known.

    Raises:
        ValueError: names the first class that is elsewhere.
    """
    labels = {_plain(name): number for name, number in labels.items()}
    for number, name in enumerate(class_names):
        if (theirs := labels.get(_plain(name), number)) != number:
            raise ValueError(f"{name!r} is class {theirs} of the weights and class {number} of the data")


def _plain(name: str) -> str:
    """Without what writers of names differ in: case, and what stands between words."""
    return "".join(letter for letter in name.lower() if letter.isalnum())
