"""Check of a user's own file after a table on the command line: no row may replace its settings without a word."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.runs.finished import short_value
from lit_video.settings.effects import RUN_KEYS
from lit_video.settings.flags import UserSetting
from lit_video.settings.flat import flatten
from lit_video.settings.nested import short_key
from lit_video.tables.reading import settings_in_files
from lit_video.tables.table import MERGED_KEY, Row, Table, holds
from lit_video.utils.yaml_files import EXPERIMENTS, find_config, read_yaml

# folders of files for many tables, over which rows are meant to win: beside the table, or of this package
SHARED_FOLDERS = {"parts", "scale"}
_GROUPS = {"model", "data"}  # a row's own class of these keeps those of the file's settings that it has too


def refuse_lost(
    table: Table, rows: Iterable[Row], configs: Sequence[Path], *, user_settings: Iterable[UserSetting]
) -> None:
    """Refuse a setting of a user's own file if a row sets another value, because rows win over files.

    Files of a scale are exempt, because rows are meant to adapt them: files with ``recipes``, in a folder ``scale`` or
    ``parts`` beside the table or of this package, or named in ``at`` of the table or a row. So are settings in
    ``user_settings``, which win over rows.
    """
    files = list(map(find_config, configs))
    own = [path for path in files[files.index(table.path) + 1 :] if not _is_scale(path, table)]
    by_flag = [setting.key.removesuffix("+") for setting in user_settings]

    for path in own:
        settings = _settings(path)
        undecided = [key for key in settings if not any(_sets(flag, key) for flag in by_flag)]

        for row in rows:
            for key in undecided:
                wins = _winner(row.settings, settings, key)
                if wins:
                    lost = settings[key]
                    what = f"{key} is {short_value(lost)}, but row {row.name} sets {wins}, and rows win over files"
                    text = lost if isinstance(lost, str) else json.dumps(lost)
                    raise UserError(f"{path}: {what}; leave it out of the file, or give --{key}={text} as a flag")


def _is_scale(path: Path, table: Table) -> bool:
    """Return whether a file belongs to a scale: it is for many tables, or rows adapt it by ``at``."""
    content = read_yaml(path)
    if "recipes" in content or _is_shared(path, table):
        return True

    section = read_yaml(table.path).get("table") or {}
    rows = (section.get("rows") or {}).values()
    adapted = [name for part in (section, *filter(None, rows)) for name in part.get("at") or {}]
    return any(f"{name}-".startswith(f"{path.stem}-") for name in adapted)


def _is_shared(path: Path, table: Table) -> bool:
    """Return whether a file is in a folder for many tables; a user's own folder may have such a name, too."""
    folder = path.resolve().parent
    return folder.name in SHARED_FOLDERS and folder.parent in {table.path.resolve().parent, EXPERIMENTS}


def _settings(path: Path) -> dict[str, Any]:
    """Return a file's settings by short key."""
    content = read_yaml(path)
    of_run = {key: value for key, value in content.items() if key in RUN_KEYS["training"]}
    return of_run | settings_in_files([path], {path: content})


def _sets(name: str, key: str) -> bool:
    """Return whether a setting with this name sets a key: the name is the key, or that of a setting around it."""
    return key == name or (name not in _GROUPS and key.startswith(f"{name}."))


def _winner(row: Mapping[str, Any], settings: Mapping[str, Any], key: str) -> str:
    """Return the row's setting, as text, that replaces a file's value of a key; empty if the value is used."""
    for name, row_value in row.items():
        if _replaces(short_key(name), row_value, key, settings=settings):
            return f"{name} {short_value(row_value)}"
    return ""


def _replaces(name: str, row_value: Any, key: str, *, settings: Mapping[str, Any]) -> bool:
    """Return whether a row's setting replaces a file's value of a key by another value.

    A mapping replaces the file's as a whole; ``model.size`` alone keeps the keys that the row leaves out. A class keeps
    the file's settings of the same class. A setting inside a value replaces this value if it is ``null`` or a list.
    """
    inside: dict[str, Any] = {name: row_value}
    if isinstance(row_value, dict):
        inside = {short_key(part): value for part, value in flatten({name: row_value}).items()}

    if key in inside:
        return not _same(inside[key], settings[key])

    if _sets(name, key):
        if isinstance(row_value, dict):
            return name != MERGED_KEY
        return name not in settings or not _same(row_value, settings[name])

    return name.startswith(f"{key}.") and (settings[key] is None or isinstance(settings[key], list))


def _same(first: Any, second: Any) -> bool:
    """Return whether two values are equal; each may omit a class's module."""
    return holds(first, second) or holds(second, first)
