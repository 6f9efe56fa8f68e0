"""Layers of a run's settings, merged: table and scale, the row, the user's own files, flags; later ones win.

A user's own file leaves to the rows of a table what the table varies.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.experiment.constructors import Constructors
from lit_video.runs.folder import short_value
from lit_video.settings.effects import RUN_KEYS
from lit_video.settings.flags import UserSetting
from lit_video.settings.nested import (
    ARGUMENTS,
    SECTIONS,
    Nested,
    by_key,
    merged,
    put,
    read_settings,
    short_key,
    starts_anew,
)
from lit_video.tables.table import MERGED_KEY, Row, Table, holds


def of_files(paths: Iterable[Path], settings: Nested | None = None) -> Nested:
    """Return settings with those of configuration files over them, without tables and recipes.

    A file of a scale that names another data set says all of its settings, so those of the data set before it go.
    """
    settings = settings or {}
    for path in paths:
        content = read_settings(path)
        if starts_anew(settings.get("data"), content):
            settings = {key: value for key, value in settings.items() if key != "data"}
        for section in RUN_KEYS["rows"]:
            content.pop(section, None)
        settings = merged(settings, content, Constructors())
    return settings


def of_row(settings: Nested, row: Row, start: Path | None = None) -> Nested:
    """Return settings with those of a row over them.

    A mapping of the row replaces that of the files; only the network's size keeps the parts that the row leaves out.
    ``start`` is the folder of the run whose weights the row names, if it names a run.
    """
    own = row.settings | ({"model.weights": str(start)} if start else {})
    # put a class before its own settings
    for key, value in sorted(own.items(), key=lambda setting: "." in setting[0]):
        settings = put(settings, key, value, classes=Constructors(), whole=key != MERGED_KEY)
    return settings


def with_user_settings(settings: Nested, user_settings: Iterable[UserSetting]) -> Nested:
    """Return settings with the user's over them."""
    for setting in user_settings:
        settings = put(settings, setting.key, setting.value, classes=Constructors())
    return settings


def refuse_varied(table: Table, row: Row, settings: Nested, *, user_settings: list[UserSetting]) -> None:
    """Refuse a setting of a user's own file that replaces what the table varies from row to row.

    Args:
        table: the row's table.
        row: a row.
        settings: settings of table, scale and row.
        user_settings: settings on the command line, which win over both.
    """
    flags = [setting.key.removesuffix("+") for setting in user_settings]
    before = _flat(settings)
    for path, own in table.own.items():
        after = _flat(of_files([path], settings))
        for name, value in row.settings.items():
            if all(other.settings.get(name) == value for other in table.rows):
                continue
            for replaced in _replaced(name, value, before, after=after):
                around = [key for key in own if f"{replaced}.".startswith(f"{key}.")]
                inside = [key for key in own if f"{key}.".startswith(f"{replaced}.")]
                key = max((*around, *inside), key=len, default=replaced)
                if not any(_is_inside(key, flag) for flag in flags):
                    raise UserError(f"{path}: {_reason(key, own.get(key), row=row, name=name)}")


def _replaced(name: str, value: Any, before: Mapping[str, Any], *, after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a row's setting that have another value after the own file.

    A mapping stands for all keys inside, also those that it leaves out, but for ``model.size``.
    """
    keys = {name}
    if isinstance(value, Mapping):
        keys = {short_key(key) for key in by_key({name: value})}
        if name != MERGED_KEY:
            keys |= {key for key in before.keys() | after.keys() if _is_inside(key, name)}
    for key in sorted(keys):
        is_there = key in before and key in after
        # each may omit a class's module
        if not is_there or not (holds(before[key], after[key]) or holds(after[key], before[key])):
            yield key


def _reason(key: str, value: Any, *, row: Row, name: str) -> str:
    """Return which setting of the file it is, what the row sets, and what to do."""
    text = value if isinstance(value, str) else json.dumps(value)
    what = f"{key} is {short_value(value)}, but row {row.name} sets {name} {short_value(row.settings[name])}"
    return f"{what}, and the table's rows differ in it; leave it out of the file, or give --{key}={text} as a flag"


def _flat(settings: Nested) -> dict[str, Any]:
    """Return settings by short key, a class by its name."""
    return {short_key(key): value for key, value in by_key(settings).items() if not key.endswith(f".{ARGUMENTS}")}


def _is_inside(key: str, name: str) -> bool:
    """Return whether a setting with this name sets a key: the name is the key, or that of a setting around it."""
    return key == name or (name not in SECTIONS and key.startswith(f"{name}."))
