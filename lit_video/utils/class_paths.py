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
