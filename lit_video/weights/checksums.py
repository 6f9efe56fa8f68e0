"""SHA-256 of downloads: compared with the published one, else with that of the first download."""

import logging
from hashlib import file_digest
from pathlib import Path

from lit_video.utils.files import write_atomically

_logger = logging.getLogger(__name__)


def refuse_other_content(file: Path, expected: str, source: str) -> None:
    """Raise an OSError if a file's SHA-256 is not the expected one; ``source`` says who names it."""
    digest = _digest(file)
    if digest != expected:
        raise OSError(f"{file.name} has the SHA-256 {digest}, but {source} names {expected}: it is another file")


def _digest(file: Path) -> str:
    """Return a file's SHA-256 in hexadecimal digits."""
    with file.open("rb") as content:
        return file_digest(content, "sha256").hexdigest()


def check_download(part: Path, place: Path, published: str | None) -> None:
    """Compare a download with its published SHA-256, before it moves from ``part`` to ``place``.

    Where none is published, the first download's is recorded beside ``place``, as ``sha256sum`` writes it, and later
    downloads must have the same.

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
