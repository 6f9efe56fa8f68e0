"""Side data of frames, such as their display matrix."""

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import cast

from av.filter import Graph
from av.sidedata.sidedata import Type
from av.video.frame import VideoFrame

SIDE_DATA_KINDS = 64  # kinds of side data, with room for later versions of FFmpeg


def side_data(frame: VideoFrame) -> Mapping[str, bytes]:
    """Return a frame's side data without the kinds for which PyAV raises, because it has no name for them (EXIF)."""
    with suppress(ValueError):
        return cast("Mapping[str, bytes]", frame.side_data)  # PyAV's type is too narrow

    graph = Graph()
    nodes = [graph.add_buffer(None, frame.width, frame.height, frame.format, time_base=Fraction(1, 1000))]
    for kind in range(len(Type), SIDE_DATA_KINDS):
        nodes.append(graph.add("sidedata", f"mode=delete:type={kind}"))
    nodes.append(graph.add("buffersink"))
    graph.link_nodes(*nodes).configure()
    graph.vpush(frame)
    return cast("Mapping[str, bytes]", graph.vpull().side_data)
