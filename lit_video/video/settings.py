"""Settings of a data set that a checkpoint stores."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from lit_video.settings.effects import data_names
from lit_video.utils.class_paths import class_path, known_class
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
    stored: dict[str, Any] = {}
    for name in SETTINGS:
        value = getattr(data, name)
        if is_dataclass(value):
            arguments = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
            value = {"class_path": class_path(type(value)), "init_args": arguments}
        stored[name] = value
    return stored


def restored_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the result of :func:`stored_settings` back to arguments of a :class:`VideoDataModule`."""
    arguments = dict(stored)
    sampling = arguments.get("sampling")
    if sampling:
        kind = known_class(Sampling, sampling["class_path"])  # type: ignore[type-abstract]
        arguments["sampling"] = kind(**sampling["init_args"])
    return arguments
