"""Where frame tables come from before a video's packets are scanned: manifests that this process was told to use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

# each gives the FrameTable of a path, or None; kept apart from decoding, which asks, and manifest, which answers
sources: dict[str, Callable[[Path], Any]] = {}


def known_table(path: Path) -> Any:
    """The table that a manifest has of a video, or None."""
    return next((table for source in sources.values() if (table := source(path)) is not None), None)
