"""Comparison of a download's SHA-256 with the published one, or, if there is none, with that of the first download."""

import logging
from hashlib import file_digest
from pathlib import Path

from lit_video.utils.files import write_atomically

_logger = logging.getLogger(__name__)


def refuse_other_content(file: Path, expected: str, source: str) -> None:
    """Raise an OSError if a file's SHA-256 is not the expected one; ``source`` says where that one is from."""
    digest = _digest(file)
    if digest != expected:
        raise OSError(f"{file.name} has the SHA-256 {digest}, but {source} names {expected}: it is another file")


def _digest(file: Path) -> str:
    """Return a file's SHA-256 in hexadecimal digits."""
    with file.open("rb") as content:
        return file_digest(content, "sha256").hexdigest()


def check_download(part: Path, place: Path, published: str | None) -> None:
    """Compare a download with its published SHA-256, before it moves from ``part`` to ``place``.

    If none is published, the SHA-256 of the first download is written beside ``place``, in the form of ``sha256sum``,
    and later downloads must have the same.

    Raises:
        OSError: the download has other content.
    """
    record = place.with_name(f"{place.name}.sha256")

    if published:
        refuse_other_content(part, published, "its publisher")
    elif record.is_file():
        recorded = record.read_text(encoding="utf-8").partition(" ")[0]
        refuse_other_content(part, recorded, str(record))
    else:
        write_atomically(record, f"{_digest(part)}  {place.name}\n")
        _logger.warning("no checksum of %s is published; the SHA-256 of this download is in %s", place.name, record)
