"""Folder of data: what the package makes for itself, and the user's data sets that experiments name."""

import os
from pathlib import Path


def data_folder(given: str | None = None) -> Path:
    """The given folder, else ``$LIT_VIDEO_DATA``, else ``~/.cache/lit_video``."""
    return Path(given or os.environ.get("LIT_VIDEO_DATA") or "~/.cache/lit_video").expanduser()


def data_root(given: str) -> Path:
    """Folder of a data set; a given ``$LIT_VIDEO_DATA/NAME`` lies in :func:`data_folder`."""
    variable, _, name = given.partition("/")
    return data_folder() / name if variable == "$LIT_VIDEO_DATA" else Path(given).expanduser()
