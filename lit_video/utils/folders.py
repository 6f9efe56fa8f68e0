"""Listings of folders, in which a video is found without its ending or in another spelling."""

import os
from functools import cache
from pathlib import Path

from lit_video.utils.files import COMMON, entries_of, is_video
from lit_video.utils.text import composed

_ENDINGS = sorted([*COMMON, *map(str.upper, COMMON)])


class Folders:
    """Cached folder listings: a check per file takes minutes for 240,000 videos on a network disk."""

    def __init__(self) -> None:
        self.names = cache(_names)

    def contains(self, path: str | Path) -> bool:
        """Return whether a video or a folder of frames exists."""
        folder, name = os.path.split(path)
        return name in self.names(folder)

    def there(self, path: str) -> str:
        """Return a video's path with the extension found on disk, which downloads and ``data prepare`` may change."""
        folder, name = os.path.split(path)
        names = self.names(folder)
        if name in names:
            return path

        stem = os.path.splitext(name)[0] if is_video(name) else name
        candidates = [name, *(stem + ending for ending in _ENDINGS)]
        for candidate in candidates:
            if candidate in names:
                return os.path.join(folder, candidate)

        if not name.isascii():  # a Mac's archives spell accents otherwise
            by_spelling = {composed(listed): listed for listed in names}
            for candidate in candidates:
                if composed(candidate) in by_spelling:
                    return os.path.join(folder, by_spelling[composed(candidate)])
        return os.path.join(folder, name)


def _names(folder: str | Path) -> set[str]:
    """Return the names of all files and folders in a folder; empty if it is absent."""
    return {entry.name for entry in entries_of(folder or ".", hidden=True)}
