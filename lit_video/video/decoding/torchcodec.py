"""Decoding with torchcodec, an extra that needs FFmpeg's shared libraries on the system."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lit_video.video.decoding import pyav
from lit_video.video.decoding.frame_table import DecodeError, Frames, check_numbers, check_sound, frame_table


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

    That is, compared with decoding the whole video: MPEG streams (other frames, or errors), interlaced video (other
    colours), odd heights of 4:2:0 (other colours, by up to 52 of 255), and H.264 with intra refresh instead of key
    frames (other frames, or errors). More than 8 bits, other subsamplings, and odd widths go to PyAV as well, and files
    where torchcodec counts other frames. H.264, HEVC, VP8, VP9, AV1, MPEG-2, MPEG-4 and Motion JPEG with even sides in
    MP4 and Matroska were equal on every made file (tests/video/test_torchcodec.py).

    Frames that the packets show to be damaged are refused as by PyAV; torchcodec passes no mark on for those that only
    its decoder finds, so ``data check --decode`` has to find them before.

    ``seek_mode="exact"`` scans the file as the frame table does: the other mode guesses from the header and gives
    other frames of some files.
    """
    from torchcodec.decoders import VideoDecoder

    table = frame_table(path)
    check_numbers(path, numbers, table.count)
    check_sound(path, table, numbers)
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
