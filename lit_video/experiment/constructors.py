"""Facts about the arguments of classes, for the merging of settings in :mod:`lit_video.settings.nested`."""

import inspect
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, get_args, get_origin, get_type_hints

from lit_video.errors import UserError, fault_of

# modules whose classes settings may name without the module
_NAMED = (
    "lit_video.datamodules",
    "lit_video.modules",
    "lit_video.video.sampling",
    "lightning.pytorch.callbacks",
    "lightning.pytorch.loggers",
    "lightning.pytorch.strategies",
)


class Constructors:
    """Constructors of classes by name, together with the constructors to which they pass further arguments."""

    def takes(self, name: str, argument: str) -> bool:
        """Return whether a class has an argument; ``True`` if the class is not found."""
        types = arguments_of(name)
        return types is None or argument in types

    def takes_names(self, name: str, argument: str) -> bool:
        """Return whether an argument is a mapping whose keys the user chooses, so that it is replaced as a whole."""
        return _has_mapping((arguments_of(name) or {}).get(argument))


@cache
def arguments_of(name: str) -> dict[str, Any] | None:
    """Return the types of a class's arguments; ``None`` if the class is not found or takes arguments of any name."""
    kind = find_class(name)
    if kind is None:
        return None

    types, takes_any = types_of_constructor(kind)
    return None if takes_any else types


def types_of_constructor(kind: type) -> tuple[dict[str, Any], bool]:
    """Return the types of a class's arguments, with the metadata of ``Annotated``, and whether it takes any others.

    While a constructor takes further arguments by name, it passes them on to the class that its own extends.
    """
    types: dict[str, Any] = {}
    for base in kind.__mro__:
        constructor = vars(base).get("__init__")
        if constructor is None:
            continue
        hints = get_type_hints(constructor, include_extras=True)
        parameters = inspect.signature(constructor).parameters.values()
        for parameter in parameters:
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                types.setdefault(parameter.name, hints.get(parameter.name))
        if all(parameter.kind != parameter.VAR_KEYWORD for parameter in parameters):
            return types, False
    return types, True


def find_class(name: str) -> type | None:
    """Return a class by its name, from the module in the name, or else from the modules of this package.

    Raises:
        UserError: the name begins with a dot, or the module's code fails.
    """
    module, _, short = name.rpartition(".")
    if name.startswith("."):
        raise UserError(f"{name}: no module is found by a name that begins with a dot; give MODULE.CLASS")

    for place in (module,) if module else _NAMED:
        try:
            kind = getattr(import_module(place), short, None)
        except (ImportError, ValueError):  # the parser says that there is no such class
            continue
        except Exception as error:  # the code of a user's module can raise anything
            raise UserError(f"{name}: {place} cannot be imported: {fault_of(error)}") from error
        if isinstance(kind, type):
            return kind
    return None


def _has_mapping(kind: Any) -> bool:
    """Return whether a type, or a member of it, is a mapping."""
    origin = get_origin(kind) or kind
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return True
    return origin is not kind and any(_has_mapping(member) for member in get_args(kind))
