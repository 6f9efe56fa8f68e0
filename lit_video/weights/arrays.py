"""Arrays of JAX's world: ``.npz``, and Flax's msgpack files (scenic's ``checkpoint``)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

# https://flax.readthedocs.io/en/latest/_modules/flax/serialization.html: the codes of msgpack's extended types
_ARRAY, _COMPLEX, _SCALAR = 1, 2, 3
_CHUNKS = "__msgpack_chunked_array__"


def load_npz(path: Path) -> dict[str, Tensor]:
    """Arrays by name."""
    with np.load(path, allow_pickle=False) as arrays:
        return {name: _tensor(arrays[name]) for name in arrays.files}


def load_flax(path: Path) -> Any:
    """The nested content of a file that ``flax.serialization`` has written.

    Raises:
        ValueError: it is none, or msgpack is not installed.
    """
    try:
        import msgpack
    except ImportError:
        raise ValueError("it is Flax's; pip install 'lit_video[flax]'") from None
    try:
        content = msgpack.unpackb(path.read_bytes(), ext_hook=_extended, raw=False, strict_map_key=False)
    except msgpack.exceptions.ExtraData as error:
        raise ValueError("it goes on after its end: no msgpack file") from error
    return _joined(content)


def is_flax(path: Path) -> bool:
    """Whether a file begins like a msgpack map, and its first key is a text."""
    with path.open("rb") as stream:
        head = stream.read(8)
    first = head[:1]
    if first and 0x81 <= first[0] <= 0x8F:
        key = head[1:2]
    elif first == b"\xde":
        key = head[3:4]
    else:
        return False
    return bool(key) and (0xA0 <= key[0] <= 0xBF or key in (b"\xd9", b"\xda"))


def _extended(code: int, data: bytes) -> Any:
    import msgpack

    if code == _COMPLEX:
        return None  # no weights are complex
    if code not in (_ARRAY, _SCALAR):
        return msgpack.ExtType(code, data)
    shape, dtype, values = msgpack.unpackb(data, raw=True)
    name = dtype.decode()
    if name == "bfloat16":
        return torch.frombuffer(bytearray(values), dtype=torch.bfloat16).reshape(tuple(shape))
    array = np.frombuffer(values, dtype=np.dtype(name)).reshape(tuple(shape))
    return _tensor(array.copy()) if code == _ARRAY else array.item()


def _joined(content: Any) -> Any:
    """Arrays of more than 1 GB are written in pieces: join them."""
    if not isinstance(content, Mapping):
        return content
    if content.get(_CHUNKS):
        shape, chunks = content["shape"], content["chunks"]
        order = sorted(chunks, key=int)
        sizes = [int(shape[key]) for key in sorted(shape, key=int)]
        return torch.cat([chunks[key].flatten() for key in order]).reshape(sizes)
    return {key: _joined(value) for key, value in content.items()}


def _tensor(array: np.ndarray) -> Tensor:
    if array.dtype.name == "void16" or array.dtype.kind == "V":  # bfloat16 in .npz, without its name
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array)
