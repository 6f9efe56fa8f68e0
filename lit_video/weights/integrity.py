"""Refusal of files of weights that were damaged or changed after they were written or published."""

import json
import logging
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, is_zipfile

from lit_video.errors import OptionError, UserError
from lit_video.runs.chosen_checkpoint import record_beside
from lit_video.runs.folder import read_finished
from lit_video.utils.files import write_atomically

_logger = logging.getLogger(__name__)

EXPORTED = "settings.json"  # name of the file beside the weights of an export
DIGEST = "digest"  # key in this file: digest of the weights


def refuse_no_checkpoint(file: Path, option: str = "ckpt") -> None:
    """Refuse, without torch, a file that is no checkpoint by its form; errors name the setting ``option``."""
    if not file.is_file():
        raise OptionError(option, f"{file}: no such file; a run's checkpoint is last.ckpt")
    if file.suffix != ".safetensors" and not is_zipfile(file):
        raise OptionError(option, f"{file} is damaged, or no checkpoint of lit_video")


def refuse_damage(file: Path) -> None:
    """Raise a ValueError if an archive's part differs from its checksum, or unpacks to more bytes than the archive has.

    ``torch.load`` does not compare checksums. A compressed part is refused, because ``torch.save`` never compresses.
    """
    if not file.is_file():
        raise ValueError("it is no plain file")
    if not is_zipfile(file):
        return

    with ZipFile(file) as archive:
        parts = archive.infolist()
        for part in parts:
            if part.compress_type != ZIP_STORED:
                raise ValueError(f"{part.filename} in it is compressed, which torch.save never does")
        if sum(part.file_size for part in parts) > file.stat().st_size:
            raise ValueError("its parts are larger than the file")
        damaged = archive.testzip()
        if damaged:
            raise ValueError(f"{damaged} in it has a wrong checksum")


def recorded_digest(file: Path) -> str:
    """Return the digest of a file's weights, as a run or an export recorded it; empty if neither did."""
    if file.suffix == ".safetensors":
        with suppress(OSError, ValueError, AttributeError):  # another program's file
            return str(json.loads(file.with_name(EXPORTED).read_text()).get(DIGEST) or "")
    record = record_beside(file)
    with suppress(UserError):  # a damaged record does not make its checkpoint useless
        run = read_finished(record.parent, anywhere=True)
        # a run records the digest of the weights that were tested, and of no other checkpoint
        if run and (record.parent / run.result.weights.file).resolve() == file.resolve():
            return run.result.weights.digest or ""
    return ""


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
