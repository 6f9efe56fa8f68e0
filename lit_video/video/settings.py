"""Settings of a data set that a checkpoint stores."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from lit_video.settings.effects import data_names
from lit_video.utils.class_paths import class_path, known_class
from lit_video.video import released_sampling  # noqa: F401  # a checkpoint may name a class of this module
from lit_video.video.sampling import Sampling

# the data module's arguments that determine a model's input in the test
SETTINGS = data_names("clip", "views", "counts", "pixels")


def check_storable(sampling: object) -> None:
    """Refuse a sampling whose arguments :func:`stored_settings` cannot read."""
    if not is_dataclass(sampling):
        name = type(sampling).__name__
        raise ValueError(f"sampling: {name} is no dataclass, so a checkpoint cannot keep its settings; make it one")


def stored_settings(data: object) -> dict[str, Any]:
    """Return a data set's ``SETTINGS`` as plain data; a sampling becomes its class path and arguments."""
    return {name: _plain(getattr(data, name)) for name in SETTINGS}


def restored_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the result of :func:`stored_settings` back to arguments of a :class:`VideoDataModule`."""
    arguments = dict(stored)
    sampling = arguments.get("sampling")
    if sampling:
        kind = known_class(Sampling, sampling["class_path"])  # type: ignore[type-abstract]
        arguments["sampling"] = kind(**sampling["init_args"])
    return arguments


def _plain(value: object) -> Any:
    """Return a dataclass as its class path and arguments, another value unchanged."""
    if is_dataclass(value):
        arguments = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return {"class_path": class_path(type(value)), "init_args": arguments}
    return value
