"""Choice of a network's parameters by name, and of its modules by class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from torch import Tensor, nn

AnyPart = TypeVar("AnyPart")


def matching(names: Iterable[str], pattern: str) -> list[str]:
    """Return the names that begin with a match of a regular expression."""
    return [name for name in names if re.match(pattern, name)]


def without(parts: Mapping[str, AnyPart], pattern: str) -> dict[str, AnyPart]:
    """Return the parts whose names do not begin with a match of a regular expression."""
    return {name: part for name, part in parts.items() if not re.match(pattern, name)}


def respelled(tensors: Mapping[str, Tensor], pattern: str, new: str) -> dict[str, Tensor]:
    """Return the tensors under names in which ``new`` replaces matches of a regular expression."""
    return {re.sub(pattern, new, name): value for name, value in tensors.items()}


def in_modules(network: nn.Module, kind: type[nn.Module], attribute: str) -> list[Any]:
    """Return an attribute of every module of one class."""
    return [getattr(module, attribute) for module in network.modules() if isinstance(module, kind)]
