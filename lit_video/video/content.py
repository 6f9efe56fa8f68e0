"""Files of equal content, whatever their names."""

import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from hashlib import file_digest
from multiprocessing.pool import ThreadPool
from pathlib import Path

from lit_video.utils.files import files_below, open_plain
from lit_video.utils.parallel import joined_threads
from lit_video.video.trained_on import READERS, content_digest

# value that is equal for files of equal content, such as the size; None for a file that cannot be compared
Signature = Callable[[Path], Hashable]


def copies(paths: Iterable[str]) -> dict[str, str]:
    """Map every file that has a copy among ``paths`` to the first file of its content, which is mapped to itself.

    A path may be a folder of frames. Sizes are compared first, then parts of files of equal size, then whole files.
    """
    groups = [[*dict.fromkeys(paths)]]
    with joined_threads(READERS) as pool:
        for sign in (_size, content_digest, whole_digest):
            divided: list[list[str]] = []
            for group in groups:
                divided += _divided(group, sign, pool)
            groups = divided

    first_of: dict[str, str] = {}
    for group in groups:
        for path in group:
            first_of[path] = group[0]
    return first_of


def whole_digest(path: Path) -> str:
    """Return the digest of a video's content, or the digests of a folder's files."""
    digests = []
    for file in files_below(path) if path.is_dir() else [path]:
        with open_plain(file) as content:
            digests.append(file_digest(content, "blake2b").hexdigest())
    return ",".join(digests)


def _divided(paths: list[str], sign: Signature, pool: ThreadPool) -> list[list[str]]:
    """Divide paths into groups of equal signature; leave out a path whose signature no other has."""

    def sign_of(path: str) -> Hashable:
        try:
            return sign(Path(path))
        except (OSError, ValueError):  # an unreadable file equals no other
            return None

    groups: dict[Hashable, list[str]] = defaultdict(list)
    signs = pool.map(sign_of, paths, chunksize=16)
    for path, sign_of_path in zip(paths, signs, strict=True):
        if sign_of_path:
            groups[sign_of_path].append(path)
    return [group for group in groups.values() if len(group) > 1]


def _size(path: Path) -> Hashable:
    """Return the bytes of a file, or of each file of a folder."""
    if not path.is_dir():
        return path.stat().st_size
    sizes = sorted(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())
    return tuple(sizes) or None
