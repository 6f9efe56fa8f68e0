"""Decoded frames as RGB pixels, turned as their display matrix says."""

from functools import lru_cache
from math import atan2, copysign, degrees, hypot

import av
import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter

from lit_video.video.decoding.frame_table import Frames
from lit_video.video.decoding.side_data import side_data

# colours that FFmpeg decodes but does not convert to RGB (ITU-T H.273, table 4)
_CONVERTED = {0, 1, 2, 4, 5, 6, 7, 9}  # matrices of FFmpeg's conversion; 2: unknown
_NAMES = {
    8: "YCgCo",
    10: "BT.2020 with constant luminance",
    11: "Y'D'zD'x",
    13: "constant luminance",
    14: "ICtCp",
    15: "IPT-C2",
    16: "YCgCo-Re",
    17: "YCgCo-Ro",
}
_READ_BY_ZSCALE = {8, 10, 12, 13, 14}  # further matrices that zimg reads
_CONVERT = "ffmpeg -i IN -vf zscale=matrix=709 OUT"


def rgb(frame: VideoFrame, converter: VideoReformatter, matrix: str) -> Frames:
    """Convert a frame to RGB, ``(height, width, 3)``, as it is shown; see :func:`orientation` for ``matrix``.

    One converter is used for all frames of a clip, and without threads: creating a converter or threads costs more than
    converting a small frame.
    """
    refuse_colours(frame)
    converted = converter.reformat(frame, format="rgb24", threads=1)
    image: Frames = converted.to_ndarray().astype(np.uint8, copy=False)

    transposed, down, right = orientation(frame, matrix)
    if transposed:
        image = image.swapaxes(0, 1)
    return image[::down, ::right]


def orientation(frame: VideoFrame, matrix: str) -> tuple[bool, int, int]:
    """Return whether a frame is shown transposed, and the steps through its rows and columns (-1: reversed).

    ``matrix`` is the table's, for frames that have none.
    """
    return _orientation(side_data(frame).get("DISPLAYMATRIX") or bytes.fromhex(matrix) or bytes(20))


@lru_cache
def _orientation(matrix: bytes) -> tuple[bool, int, int]:
    """Return what :func:`orientation` does, for a display matrix of FFmpeg."""
    a, b, _, c, d = np.frombuffer(matrix, np.int32)[:5].tolist()
    across = hypot(a, c)
    down = hypot(b, d)
    if not across or not down:  # no matrix, or a degenerate one: FFmpeg shows the stored picture
        return False, 1, 1

    turn = round(degrees(atan2(b / down, a / across)))
    quarters, rest = divmod(turn, 90)
    if rest:
        reason = f"its header turns the picture by {turn % 360} degrees"
        raise av.PatchWelcomeError(0, f"{reason}; encode it upright: ffmpeg -i IN OUT")

    transposed = bool(quarters % 2)
    row_sign, column_sign = (b, c) if transposed else (d, a)
    return transposed, int(copysign(1, row_sign)), int(copysign(1, column_sign))


def refuse_colours(frame: VideoFrame) -> None:
    """Raise an ``av.PatchWelcomeError``, with the reason and the way out, for colours that cannot be converted."""
    matrix = frame.colorspace
    if matrix in _CONVERTED or frame.format.is_rgb:
        return
    name = _NAMES.get(matrix, f"matrix {matrix} of H.273")
    advice = f"convert it: {_CONVERT}" if matrix in _READ_BY_ZSCALE else "export it from its source as BT.709"
    raise av.PatchWelcomeError(0, f"its colours are stored as {name}, which is not converted; {advice}")
