"""Classes as checkpoints name them, by import path; nothing is imported for it."""

from typing import TypeVar

Base = TypeVar("Base")


def class_path(kind: type) -> str:
    """Return the dotted path that a class is imported by."""
    return f"{kind.__module__}.{kind.__qualname__}"


def known_class(base: type[Base], path: str) -> type[Base]:
    """Return the class that a file names, ``base`` or one derived from it, if it is imported already."""
    classes = [base]
    for kind in classes:  # the list grows meanwhile
        if class_path(kind) == path:
            return kind
        classes += kind.__subclasses__()
    raise ValueError(f"{path} is no {base.__name__} of lit_video")
