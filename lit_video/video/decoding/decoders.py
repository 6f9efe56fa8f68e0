"""Which library decodes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from lit_video.video.decoding import pyav
from lit_video.video.decoding.frame_table import Frames

DecoderName = Literal["pyav", "torchcodec"]
# (path, frame numbers from 0) -> RGB (frames, height, width, 3); raises DecodeError and IndexError as pyav's does
Decode = Callable[[Path, Sequence[int]], Frames]


def decoder(name: DecoderName) -> Decode:
    """The decoder of a name.

    Raises:
        ValueError: its library is not installed, or does not work here; or there is none of this name.
    """
    if name == "pyav":
        return pyav.decode
    if name != "torchcodec":
        raise ValueError(f"decoder is {name!r}, expected pyav or torchcodec")
    from lit_video.video.decoding import torchcodec

    torchcodec.check()
    return torchcodec.decode
