"""What an ``.npz`` declares, read without unpacking its arrays. Imports no torch."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PLAUSIBLE = 256 << 20  # bytes of arrays that any file may declare: logits of 150,000 videos and 400 classes
PACKED = 4  # beyond that, times its own size: logits hardly shrink, so that more is a bomb or damage


@dataclass(frozen=True)
class Declared:
    """Shape and type of an array, as its header declares them."""

    shape: tuple[int, ...]
    dtype: np.dtype


def declared_arrays(path: Path) -> dict[str, Declared]:
    """The arrays of an ``.npz`` by name, from their headers.

    Raises:
        ValueError: an array holds objects (which could run code), its header and its size differ, or all together
            are far too large for the file.
        zipfile.BadZipFile: it is no zip.
        OSError: it cannot be read.
    """
    with zipfile.ZipFile(path) as archive:
        total, limit = sum(m.file_size for m in archive.infolist()), max(PLAUSIBLE, PACKED * path.stat().st_size)
        if total > limit:
            raise ValueError(f"declares {total / 1e9:.1f} GB, its file has {path.stat().st_size / 1e6:.1f} MB")
        return {m.filename.removesuffix(".npy"): _declared(archive, m) for m in archive.infolist()}


def _declared(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Declared:
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, _, dtype = np.lib.format.read_array_header_2_0(file)
        else:
            raise ValueError(f"{member.filename}: version {version} of the format")
        start = file.tell()
    if dtype.hasobject:
        raise ValueError(f"{member.filename}: holds objects")
    size = dtype.itemsize
    for length in shape:
        size *= length
    if min(shape, default=0) < 0 or start + size != member.file_size:
        raise ValueError(f"{member.filename}: declares {size} bytes, holds {member.file_size - start}")
    return Declared(shape, dtype)
