"""The tensors of one model in a file's content: wrappers and prefixes taken off, in any order."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

# where a training checkpoint keeps the weights: PySlowFast, Lightning, timm, Flax
PLACES = ("model_state", "state_dict", "model", "network", "params", "target", "optimizer", "opt")
# and their moving average
AVERAGES = ("state_dict_ema", "model_ema", "ema_state_dict", "ema")
PREFIXES = ("module.", "model.", "network.")
# of torch.compile, at any place in a name
COMPILED = "_orig_mod."

Tensors = dict[str, Tensor]


def model_of(content: Any, average: bool | None = None) -> tuple[Tensors, str]:
    """The tensors of the model in a file's content, and a line on what was chosen, empty where there was no choice.

    Args:
        content: nested mappings.
        average: the moving average of the weights (EMA), or the weights themselves; ``None`` for the average where
            there is one, as timm does.

    Raises:
        ValueError: there are no tensors, or not those that were asked for.
    """
    averaged, place = _first(content, AVERAGES)
    others = [key for key in content if key not in AVERAGES] if isinstance(content, Mapping) else []
    weights = _weights({key: content[key] for key in others})
    if average is False and averaged and not weights:
        raise ValueError(f"weights_ema is false, and it holds the moving average alone ({place})")
    if average and not averaged:
        raise ValueError("weights_ema is true, and it holds no moving average of the weights")
    chosen = weights if average is False or not averaged else averaged
    if not chosen:
        raise ValueError("it holds no state dict (names and tensors)")
    line = ""
    if weights and averaged:
        taken, other = ("the weights", "true") if chosen is weights else (f"their moving average ({place})", "false")
        line = f"{taken} of two sets; the other with --model.weights_ema {other}"
    return without_prefixes(chosen), line


def without_prefixes(tensors: Mapping[str, Tensor]) -> Tensors:
    """Tensors by names without the prefixes that compiling and wrapping put before all of them."""
    names = {name: name.replace(COMPILED, "") for name in tensors}
    while prefix := next((one for one in PREFIXES if names and all(n.startswith(one) for n in names.values())), ""):
        names = {key: name.removeprefix(prefix) for key, name in names.items()}
    return {name: tensors[key] for key, name in names.items()}


def _weights(content: Any) -> Tensors:
    """Tensors at the first place that holds some, else the content's own."""
    if not isinstance(content, Mapping) or not content:
        return {}
    return _first(content, PLACES)[0] or _tensors(content)


def _first(content: Any, places: tuple[str, ...]) -> tuple[Tensors, str]:
    for place in places if isinstance(content, Mapping) else ():
        if found := _weights(content.get(place)):
            return found, place
    return {}, ""


def _tensors(content: Any) -> Tensors:
    """Names and tensors, those of nested mappings (Flax) joined by slashes; empty if anything else is among them."""
    if not isinstance(content, Mapping):
        return {}
    flat: Tensors = {}
    for key, value in content.items():
        if isinstance(value, Tensor):
            flat[str(key)] = value
        elif inner := _tensors(value):
            flat |= {f"{key}/{name}": tensor for name, tensor in inner.items()}
        else:
            return {}
    return flat
