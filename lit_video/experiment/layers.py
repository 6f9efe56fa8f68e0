"""Layers of a run's settings, merged: table and scale, the row, the user's own files, flags; later ones win."""

from collections.abc import Iterable
from pathlib import Path

from lit_video.experiment.constructors import Constructors
from lit_video.settings.effects import RUN_KEYS
from lit_video.settings.flags import UserSetting
from lit_video.settings.nested import Nested, merged, put, read_settings, starts_anew
from lit_video.tables.table import MERGED_KEY, Row


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
