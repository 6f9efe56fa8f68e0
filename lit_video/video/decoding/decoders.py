"""Which library decodes."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from lit_video.video.decoding import pyav, torchcodec
from lit_video.video.decoding.frame_table import Frames
from lit_video.video.decoding.torchcodec import DecodeDevice

DecoderName = Literal["pyav", "torchcodec"]
# (path, frame numbers from 0) -> RGB (frames, height, width, 3); raises DecodeError and IndexError as pyav's does
Decode = Callable[[Path, Sequence[int]], Frames]


def decoder(name: DecoderName, device: DecodeDevice = "cpu") -> Decode:
    """The decoder of a name, on a device.

    Raises:
        ValueError: its library is not installed, or does not work here or on the device; or there is none of this name.
    """
    if device == "cuda" and name != "torchcodec":
        raise ValueError(f"decode_device is cuda, which decoder {name} has not: set decoder torchcodec")
    if name == "pyav":
        return pyav.decode
    if name != "torchcodec":
        raise ValueError(f"decoder is {name!r}, expected pyav or torchcodec")
    torchcodec.check()
    if device == "cuda":
        torchcodec.check_cuda()
        return partial(torchcodec.decode, device=device)
    return torchcodec.decode
