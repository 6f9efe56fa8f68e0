"""A run's configuration as flat keys and plain values, which dashboards group and filter by."""

from collections.abc import Iterator, Mapping
from typing import Any

Plain = str | int | float | bool
GROUPS = ("trainer", "data", "model")  # where two have a setting of the same name, the later one's value stands
_FRAMES = {"class_path", "init_args"}  # how a class is written down, no setting of its own


def flat_settings(config: Mapping[str, Any]) -> dict[str, Plain]:
    """Every plain setting of a resolved configuration: ``window``, ``size_width``, ``sampling``, ``max_epochs``, ...

    Groups are left out of a key, and parts are joined by an underscore: W&B reads a dot as a nested key. A class gives
    its name, a list of plain values their text with commas; what is not set is left out.
    """
    flat: dict[str, Plain] = {}
    for group in GROUPS:
        flat |= dict(_plain(config.get(group), group))
    return flat


def flat_row(settings: Mapping[str, Any]) -> dict[str, Plain]:
    """Flat keys of a table's row, whose ``settings`` are named as flags are: ``model.window``, ``model``, ..."""
    return {key: value for name, setting in settings.items() for key, value in _plain(setting, name)}


def flat_key(setting: str) -> str:
    """The flat key of a setting as tables write it: ``model.size.width`` is ``size_width``, ``model`` itself stays."""
    group, *parts = setting.split(".")
    parts = [part for part in parts if part not in _FRAMES]
    return "_".join(parts) if parts else group


def _plain(value: Any, setting: str) -> Iterator[tuple[str, Plain]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            if name == "class_path":
                yield flat_key(setting), str(part).rpartition(".")[2]
            else:
                yield from _plain(part, f"{setting}.{name}")
    elif isinstance(value, list | tuple) and value and all(isinstance(part, Plain) for part in value):
        yield flat_key(setting), ",".join(map(str, value))
    elif isinstance(value, Plain):
        yield flat_key(setting), value
