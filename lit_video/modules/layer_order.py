"""Order of a network's layers, from its embedding to its classifier, for rates that fall from layer to layer."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from lightning.pytorch.utilities import rank_zero_only
from timm.models import group_parameters
from torch import nn

from lit_video.errors import UserError
from lit_video.network.convnets import TwoPathways
from lit_video.network.transformer import VideoTransformer
from lit_video.weights.loading import CLASSIFIER

_logger = logging.getLogger(__name__)

CALLED_HEAD = re.compile(r"(?:^|[._])(?:heads?|fc|classifier)\.$")  # end of a prefix of parameters


def layers_below(module: nn.Module) -> dict[str, int]:
    """Return for each parameter by name the number of layers from it to the classifier, 1 for the last one.

    A parameter that is not in the result belongs to the classifier, or to a part that reads the layers. Networks of
    this package and PyTorchVideo have their own numbers. Other networks number their layers by a method
    ``group_matcher(coarse=False)``, like timm's models; without it, stacks of blocks count as they are defined.

    Raises:
        UserError: there are no layers.
    """
    # the outermost networks whose layers are known: prefix, network, and the function that numbers its layers
    networks: list[tuple[str, nn.Module, Any]] = []
    for name, part in module.named_modules():
        prefix = f"{name}." if name else ""
        if any(prefix.startswith(outer) for outer, *_ in networks):
            continue
        kind = type(part)
        if issubclass(kind, VideoTransformer | TwoPathways) or kind.__module__ == "pytorchvideo.models.net":
            networks.append((prefix, part, _of_family))
        elif callable(getattr(part, "group_matcher", None)):
            networks.append((prefix, part, _of_timm))

    network = getattr(module, "network", module)  # a classifier has metrics and the user's parts too
    if not networks:
        networks.append(("network." if network is not module else "", network, _of_stacks))

    layers: dict[str, int] = {}
    for prefix, part, number in networks:
        numbers = number(part)
        order = sorted({*numbers.values()})
        layers |= {f"{prefix}{name}": len(order) - order.index(layer) for name, layer in numbers.items()}

    if not layers:
        raise UserError(
            f"layer_decay: {type(network).__name__} has no layers that are known; leave it out, or give the network "
            "a method group_matcher(coarse=False) like timm's"
        )
    return layers


def _of_family(network: nn.Module) -> dict[str, int]:
    """Return the numbers of the layers of this package's families: 0 for the embedding, from 1 for the blocks."""
    numbers = {}
    for name, _ in network.named_parameters():
        block = re.match(r"blocks\.(\d+)\.(?:layers\.(\d+)\.)?", name)  # a Perceiver's layers are in one block
        if re.match(CLASSIFIER, name):  # a CNN's is in its last block
            continue
        if block:
            numbers[name] = 1 + int(block[1]) + int(block[2] or 0)
        elif name.startswith("embed."):
            numbers[name] = 0
    return numbers


def _of_timm(network: Any) -> dict[str, int]:
    """Return the numbers of the layers by a network's own rule; the last group is its classifier."""
    numbers: dict[str, int] = group_parameters(network, network.group_matcher(coarse=False), reverse=True)
    last = max(numbers.values())
    return {name: number for name, number in numbers.items() if number < last}


def _of_stacks(network: nn.Module) -> dict[str, int]:
    """Return the numbers of a network's blocks in the order of their definition, from 1; 0 for what is defined before.

    A line says how many there are, as a part that the network defines and does not use would be one of them.

    Tokens and positions of the modules around the stacks are 0 too; a part between two blocks is a layer of its own.
    Parts that are defined after the last block, or are called a head or classifier, read the layers.
    """
    units = [unit for unit in _units(network) if not CALLED_HEAD.search(unit.prefix)]
    places = [place for place, unit in enumerate(units) if unit.kind == "block"]
    if not places:
        return {}

    numbers: dict[str, int] = {}
    layer = 0
    for unit in units[: places[-1] + 1]:
        if unit.kind == "around":
            numbers |= dict.fromkeys(unit.names, 0)
            continue
        layer += unit.kind == "block" or layer > 0
        numbers |= dict.fromkeys(unit.names, layer)

    counted = f"{1 + layer} layers below the classifier of {type(network).__name__}, in the order of their definition"
    rank_zero_only(_logger.info)(f"layer_decay: {counted}; a method group_matcher of the network decides otherwise")
    return numbers


@dataclass(frozen=True)
class _Unit:
    """A part of a network that is not divided further."""

    prefix: str
    names: list[str]  # its parameters
    kind: Literal["block", "around", "other"]  # part of a stack; module around stacks, without its parts


def _units(module: nn.Module, prefix: str = "", in_stack: bool = False) -> Iterator[_Unit]:
    """Yield the parts of a network with parameters, in the order of definition."""
    divided = _is_stack(module) or (_is_stage(module) if in_stack else any(map(_is_stack, module.modules())))
    names = [f"{prefix}{name}" for name, _ in module.named_parameters(recurse=not divided)]
    if names:
        is_block = in_stack and any(True for _ in module.children())
        kind: Literal["block", "other"] = "block" if is_block else "other"
        yield _Unit(prefix, names, "around" if divided else kind)
    if divided:
        for name, child in module.named_children():
            yield from _units(child, f"{prefix}{name}.", in_stack=_is_stack(module))


def _is_stack(module: nn.Module) -> bool:
    """Return whether a module is a list of blocks, which have parts of their own, and not one of single layers.

    A subclass of ``nn.Sequential`` is a block, like torchvision's convolutions over space, then over time.
    """
    if type(module) is not nn.Sequential and not isinstance(module, nn.ModuleList):
        return False
    parts = [part for part in module if any(True for _ in part.parameters())]
    blocks = sum(any(True for _ in part.children()) for part in parts)
    return blocks > 1 or (blocks > 0 and blocks == len(parts))


def _is_stage(module: nn.Module) -> bool:
    """Return whether an element of a stack is a stage: most of it is a stack of equal blocks, not branches."""
    for part in module.children():
        kinds = {type(block) for block in part.children()}
        if _is_stack(part) and len(kinds) == 1 and 2 * _size(part) > _size(module):
            return True
    return False


def _size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
