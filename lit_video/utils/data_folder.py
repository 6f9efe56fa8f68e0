"""Where what the package makes for itself is kept. Imports no torch."""

import os
from pathlib import Path


def data_folder(given: str | None = None) -> Path:
    """The given folder, else ``$LIT_VIDEO_DATA``, else ``~/.cache/lit_video``."""
    return Path(given or os.environ.get("LIT_VIDEO_DATA") or "~/.cache/lit_video").expanduser()
