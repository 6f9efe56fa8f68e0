"""Check of arguments by their types, with choices and ranges: the same for YAML, flags and Python."""

import collections.abc
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from lit_video.errors import OptionError
from lit_video.utils.files import MOST_LAYERS
from lit_video.utils.text import did_you_mean


@dataclass(frozen=True)
class Range:
    """Range of a number, as metadata of ``Annotated``; with ``above`` or ``below`` the limit itself is excluded."""

    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    below: bool = False

    def __contains__(self, value: float) -> bool:
        enough = value > self.least if self.above else value >= self.least
        within = value < self.most if self.below else value <= self.most
        return enough and within and math.isfinite(value)

    def __repr__(self) -> str:
        lower = f"{'above' if self.above else 'of at least'} {self.least:g}"
        upper = f"{'below' if self.below else 'of at most'} {self.most:,g}"
        if self.most == math.inf:
            return lower
        if self.least == -math.inf:
            return upper
        if self.above or self.below:
            return f"{lower} and {upper}"
        return f"from {self.least:g} to {self.most:,g}"


Count = Annotated[int, Range(1)]
Whole = Annotated[int, Range(0)]
Positive = Annotated[float, Range(0, above=True)]
NotNegative = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]
ShareAboveZero = Annotated[float, Range(0, 1, above=True)]
ShareBelowOne = Annotated[float, Range(0, 1, below=True)]
InnerShare = Annotated[float, Range(0, 1, above=True, below=True)]
Percent = Annotated[float, Range(0, 100)]
Layers = Annotated[int, Range(0, MOST_LAYERS)]


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Check a constructor's arguments, the ``locals()`` of its first line, against its types and those of its bases.

    Raises:
        ValueError: an argument is no value of its type; the message begins with its name.
    """
    kind = arguments["__class__"]
    _check(kind.__init__, arguments)
    for base in constructors(kind)[1:]:
        _check(base.__init__, arguments.get("kwargs", {}))  # type: ignore[misc]


def constructors(kind: type) -> list[type]:
    """Return this package's classes among a class and its bases that have a constructor of their own."""
    bases = [base for base in kind.__mro__ if base.__module__.startswith("lit_video.")]
    return [base for base in bases if "__init__" in vars(base)]


def check_fields(instance: object) -> None:
    """Check a dataclass's fields against their types, in ``__post_init__``; see :func:`check_arguments`."""
    _check(type(instance), vars(instance))


def refuse_wrong_values(annotated: Any, values: Mapping[str, Any]) -> None:
    """Check ranges and choices of a function's arguments, the ``locals()`` of its first line, or of a class's fields.

    Other types are not checked, as some are known to type checkers alone.

    Raises:
        OptionError: an argument has no value that its type offers.
    """
    for name, written in annotated.__annotations__.items():
        kind = written
        if isinstance(written, str):  # the annotation is text, as the function's file has it
            try:
                kind = eval(written, vars(sys.modules[annotated.__module__]))
            except NameError:  # one that type checkers alone know
                continue
        members = [member for member in (kind, *get_args(kind)) if get_origin(member) in (Annotated, Literal)]
        if name in values and members and not fits(values[name], kind):
            words = _listed([words_for(member) for member in members])
            raise OptionError(name, f"is {values[name]}, expected {words}")


def _check(annotated: Any, values: Mapping[str, Any]) -> None:
    for name, kind in types_of(annotated).items():
        if name in values and not fits(values[name], kind):
            value = values[name]
            hint = did_you_mean(value, _choices(kind)) if isinstance(value, str) else ""
            raise ValueError(f"{name} is {value!r}, expected {words_for(kind)}{hint}")


@cache
def types_of(annotated: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a function's arguments, or of a dataclass's fields, with the metadata of ``Annotated``."""
    hints = get_type_hints(annotated, include_extras=True)
    hints.pop("return", None)
    hints.pop("kwargs", None)
    return hints


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value fits a type: a choice, a range, a class, or a collection of values that fit.

    Like jsonargparse, take a list for a tuple and an int for a float, and a mapping for a dataclass's fields.
    """
    origin = get_origin(kind)
    inner = get_args(kind)

    if origin is Annotated:
        return fits(value, inner[0]) and all(value in limit for limit in inner[1:] if isinstance(limit, Range))
    if origin in (Union, UnionType):
        return any(fits(value, member) for member in inner)
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in inner)
    if origin is tuple:
        if not _is_sequence(value):
            return False
        if inner[-1] is Ellipsis:
            return all(fits(member, inner[0]) for member in value)
        return len(value) == len(inner) and all(map(fits, value, inner))
    if origin is not None and isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        names, values = inner
        return isinstance(value, Mapping) and all(fits(k, names) and fits(v, values) for k, v in value.items())
    if origin is not None and isinstance(origin, type) and issubclass(origin, collections.abc.Sequence):
        return _is_sequence(value) and all(fits(member, inner[0]) for member in value)
    return _fits_class(value, origin or kind)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _fits_class(value: Any, kind: Any) -> bool:
    if kind is None or kind is NoneType:
        return value is None
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if not isinstance(kind, type) or kind is object:  # Any, a type variable
        return True
    return isinstance(value, kind) or (is_dataclass(kind) and isinstance(value, Mapping))


def _choices(kind: Any) -> list[str]:
    """Return all strings that a type, or a member of it, offers."""
    if get_origin(kind) is Literal:
        return [choice for choice in get_args(kind) if isinstance(choice, str)]

    choices = []
    for member in get_args(kind):
        choices += _choices(member)
    return choices


_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    NoneType: "none",
    Any: "anything",
}


def words_for(kind: Any) -> str:
    """Return what a type takes, for messages: ``none, at least 1, or backbone``."""
    origin = get_origin(kind)
    inner = get_args(kind)

    if origin is Annotated:
        limits = " and ".join(repr(limit) for limit in inner[1:] if isinstance(limit, Range))
        return f"{words_for(inner[0])} {limits}" if inner[0] is int else f"a number {limits}"
    if origin in (Union, UnionType):
        return _listed([words_for(member) for member in inner])
    if origin is Literal:
        return _listed([str(choice) for choice in inner])
    if origin is tuple and inner[-1] is not Ellipsis:
        return " and ".join(words_for(member) for member in inner)
    if origin is not None and isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        return f"names with {words_for(inner[1])} each"
    if origin is type:
        return f"a subclass of {inner[0].__name__}"
    if inner:
        return f"a list, each {words_for(inner[0])}"
    return _NAMES.get(kind) or str(getattr(kind, "__name__", kind))


def _listed(words: list[str]) -> str:
    words = list(dict.fromkeys(words))
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} or {words[-1]}"
