"""Classes by import path, as checkpoints name them; looking one up imports nothing."""

from typing import TypeVar

Base = TypeVar("Base")


def class_path(kind: type) -> str:
    """Return the dotted path that a class is imported by."""
    return f"{kind.__module__}.{kind.__qualname__}"


def known_class(base: type[Base], path: str) -> type[Base]:
    """Return the class with this path: ``base``, or a subclass that is already imported."""
    classes = [base]
    for kind in classes:  # the loop adds subclasses
        if class_path(kind) == path:
            return kind
        classes += kind.__subclasses__()
    raise ValueError(f"{path} is no {base.__name__} of lit_video")


def own_class(setting: str, given: str | type[Base] | None, base: type[Base]) -> type[Base] | None:
    """Return a class that a setting names, or that Python gives; ``None`` if there is none.

    Raises:
        ValueError: the class does not extend ``base``, or its module is not imported.
    """
    if given is None:
        return None
    if isinstance(given, type):
        if issubclass(given, base):
            return given
        raise ValueError(f"{setting} is {class_path(given)}, expected a subclass of {class_path(base)}")
    try:
        return known_class(base, given)
    except ValueError as error:
        expected = f"expected MODULE.CLASS of your own, a subclass of {class_path(base)}"
        raise ValueError(f"{setting} is {given!r}, {expected}, whose file --scheme FILE.py imports") from error
