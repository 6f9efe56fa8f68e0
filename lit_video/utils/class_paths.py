"""Classes as files name them, by import path. Nothing is imported for it, and classes of ours may have moved since."""

from typing import TypeVar

Base = TypeVar("Base")


def class_path(kind: type) -> str:
    """Where a class is imported from, with dots."""
    return f"{kind.__module__}.{kind.__qualname__}"


def class_name(path: str) -> str:
    """The path by which a class is compared: of one of ours, which may move, its name; of any other, all of it."""
    return path.rpartition(".")[2] if path.startswith("lit_video.") else path


def known_class(base: type[Base], path: str) -> type[Base]:
    """The class that a file names, ``base`` or one derived from it, among those that are imported already.

    Raises:
        ValueError: there is none.
    """
    classes = [base]
    for kind in classes:  # which grows meanwhile
        if class_name(class_path(kind)) == class_name(path):
            return kind
        classes += kind.__subclasses__()
    raise ValueError(f"{path} is no {base.__name__} of lit_video")
