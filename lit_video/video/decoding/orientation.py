"""Orientation of frames: the display matrix, of the container or of a camera's EXIF, as FFmpeg reads it."""

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from math import atan2, degrees, hypot
from typing import cast

import av
import numpy as np
from av.filter import Graph
from av.sidedata.sidedata import Type
from av.video.frame import VideoFrame

KINDS = 64  # kinds of side data, with room for later versions of FFmpeg


def orientation(frame: VideoFrame) -> tuple[bool, bool, bool]:
    """Return whether a frame is shown transposed, whether its rows then are upside down, and its columns mirrored.

    Raises:
        av.FFmpegError: it is turned by another angle than a multiple of 90 degrees.
    """
    matrix = _side_data(frame).get("DISPLAYMATRIX")
    a, b, _, c, d = np.frombuffer(matrix, np.int32)[:5].tolist() if matrix else (0, 0, 0, 0, 0)
    across, down = hypot(a, c), hypot(b, d)
    if not across or not down:  # no matrix, or one that leaves no picture: FFmpeg shows the stored one
        return False, False, False
    quarters, rest = divmod(round(degrees(atan2(b / down, a / across))), 90)
    if rest:
        turn = f"its header turns the picture by {(90 * quarters + rest) % 360} degrees"
        raise av.PatchWelcomeError(0, f"{turn}; encode it upright: ffmpeg -i IN OUT")
    return (True, b < 0, c < 0) if quarters % 2 else (False, d < 0, a < 0)


def _side_data(frame: VideoFrame) -> Mapping[str, bytes]:
    """Return the decoder's side data of a frame; PyAV raises where it has no name for a kind, such as EXIF."""
    with suppress(ValueError):
        return cast("Mapping[str, bytes]", frame.side_data)  # PyAV's type is too narrow
    graph = Graph()
    nodes = [graph.add_buffer(None, frame.width, frame.height, frame.format, time_base=Fraction(1, 1000))]
    nodes += [graph.add("sidedata", f"mode=delete:type={kind}") for kind in range(len(Type), KINDS)]
    graph.link_nodes(*nodes, graph.add("buffersink")).configure()
    graph.vpush(frame)
    return cast("Mapping[str, bytes]", graph.vpull().side_data)
