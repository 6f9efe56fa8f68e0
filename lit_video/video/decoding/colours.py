"""Colours that FFmpeg decodes but does not convert to RGB (ITU-T H.273, table 4)."""

import av
from av.video.frame import VideoFrame

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


def refuse_colours(frame: VideoFrame) -> None:
    """Raise an ``av.PatchWelcomeError``, with the reason and the way out, for colours that cannot be converted."""
    matrix = frame.colorspace
    if matrix in _CONVERTED or frame.format.is_rgb:
        return
    name = _NAMES.get(matrix, f"matrix {matrix} of H.273")
    advice = f"convert it: {_CONVERT}" if matrix in _READ_BY_ZSCALE else "export it from its source as BT.709"
    raise av.PatchWelcomeError(0, f"its colours are stored as {name}, which is not converted; {advice}")
