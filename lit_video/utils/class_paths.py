"""Classes by import path, as checkpoints name them; looking one up imports nothing."""

import sys
from typing import TypeVar

from lit_video.errors import UserError

Base = TypeVar("Base")


def class_path(kind: type) -> str:
    """Return the dotted path that a class is imported by."""
    return f"{kind.__module__}.{kind.__qualname__}"


def importable(kind: type) -> str:
    """Return the name by which another process finds a class: its path, or ``FILE.py:CLASS`` outside of packages.

    Raises:
        UserError: the class is defined in a notebook or a program, whose code no run could record.
    """
    module = kind.__module__
    file = getattr(sys.modules.get(module), "__file__", None)
    if module == "__main__" or file is None:
        what = f"{kind.__name__} is defined in a notebook or a program, so that no run can record its code"
        raise UserError(f"{what}; save it in a file and import it")
    return class_path(kind) if "." in module else f"{file}:{kind.__qualname__}"


def known_class(base: type[Base], path: str) -> type[Base]:
    """Return the class with this path: ``base``, or a subclass that is already imported."""
    classes = [base]
    for kind in classes:  # the loop adds subclasses
        if class_path(kind) == path:
            return kind
        classes += kind.__subclasses__()
    raise ValueError(f"{path} is no {base.__name__} of lit_video")


def own_class(setting: str, named: str | type[Base] | None, base: type[Base]) -> type[Base] | None:
    """Return a class that a setting names, or that Python gives; ``None`` if there is none.

    Raises:
        ValueError: the class does not extend ``base``, or its module is not imported.
    """
    if named is None:
        return None
    if isinstance(named, type):
        if issubclass(named, base):
            return named
        raise ValueError(f"{setting} is {class_path(named)}, expected a subclass of {class_path(base)}")

    try:
        return known_class(base, named)
    except ValueError as error:
        expected = f"expected MODULE.CLASS of your own, a subclass of {class_path(base)}"
        raise ValueError(f"{setting} is {named!r}, {expected}, whose file --scheme FILE.py imports") from error
