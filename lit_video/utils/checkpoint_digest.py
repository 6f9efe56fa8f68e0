"""Which weights a result is of: a digest of a checkpoint's file, without reading it whole. Imports no torch."""

import hashlib
import struct
import zipfile
from pathlib import Path


def checkpoint_digest(path: Path) -> str:
    """SHA-256, in hex, of what the file's table of contents says of each member: its name, CRC-32 and size in bytes.

    ``torch.save`` writes a zip whose members lie in one folder named like the file; that folder's name is left out, so
    that a copy or a rename keeps the digest. The members' bytes are not read: a file of gigabytes takes milliseconds,
    and damage inside a member goes unseen until it is loaded.

    Raises:
        ValueError: the file is no zip, or its table of contents is damaged.
        OSError: the file cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = sorted((m.filename.partition("/")[2], m.CRC, m.file_size) for m in archive.infolist())
    except (zipfile.BadZipFile, struct.error, NotImplementedError, OverflowError) as error:
        raise ValueError(f"{path}: no checkpoint of torch.save: {error}") from None
    return hashlib.sha256(repr(members).encode()).hexdigest()
