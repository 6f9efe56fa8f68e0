"""Decoding with torchcodec, an extra that needs FFmpeg's shared libraries on the system."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lit_video.video.decoding import pyav
from lit_video.video.decoding.frame_table import DecodeError, Frames, check_numbers, frame_table


def check() -> None:
    """Check that torchcodec works here.

    Raises:
        ValueError: it is not installed, or finds no FFmpeg.
    """
    try:
        from torchcodec.decoders import VideoDecoder  # noqa: F401
    except ImportError as error:
        raise ValueError(
            "decoder is torchcodec, which is not installed: pip install torchcodec, or --data.decoder pyav"
        ) from error
    except (RuntimeError, OSError) as error:
        raise ValueError(
            "decoder is torchcodec, which finds no shared libraries of FFmpeg 4 to 9: install them "
            "(apt-get install ffmpeg), or --data.decoder pyav"
        ) from error


def decode(path: Path, numbers: Sequence[int]) -> Frames:
    """As :func:`lit_video.video.decoding.pyav.decode`, which also decodes what torchcodec 0.17 gets wrong.

    That is, compared with decoding the whole video: MPEG streams (other frames, or errors), interlaced video and more
    than 8 bits (other colours), each known from the frame table; and files where it counts other frames. H.264 with
    intra refresh instead of key frames it gets wrong too, which no header shows: use ``pyav`` there.

    ``seek_mode="exact"`` scans the file as the frame table does: the other mode guesses from the header and gives
    other frames of some files.
    """
    from torchcodec.decoders import VideoDecoder

    table = frame_table(path)
    check_numbers(path, numbers, table.count)
    if not table.plain:
        return pyav.decode(path, numbers)
    try:
        video = VideoDecoder(str(path), seek_mode="exact", num_ffmpeg_threads=1, dimension_order="NHWC")
        if len(video) != table.count:
            return pyav.decode(path, numbers)
        return np.ascontiguousarray(video.get_frames_at(list(numbers)).data.numpy())
    except (RuntimeError, ValueError, IndexError) as error:
        lines = str(error).strip().splitlines()
        raise DecodeError(f"{path}: torchcodec: {lines[0] if lines else type(error).__name__}") from error
