"""Pictures to H.264 streams."""

from fractions import Fraction

import av
import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import Colorspace
from av.video.stream import VideoStream
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


def h264_stream(container: av.container.OutputContainer, image: Pixels, base: Fraction, rate: Fraction) -> VideoStream:
    """A stream for pictures of the size of ``image``, H.264 with the colours of BT.709."""
    stream: VideoStream = container.add_stream("libx264", rate=rate, options={"crf": "18"})
    stream.height, stream.width = image.shape[:2]
    # 4:2:0 has no odd sizes
    stream.pix_fmt = "yuv444p" if stream.height % 2 or stream.width % 2 else "yuv420p"
    stream.codec_context.time_base = base
    context = stream.codec_context
    context.colorspace = context.color_primaries = context.color_trc = Colorspace.ITU709
    return stream


def video_frame(image: Pixels, stream: VideoStream, pts: int, base: Fraction) -> VideoFrame:
    """An RGB picture as a frame of a stream of :func:`h264_stream`, shown at ``pts`` times ``base``."""
    frame = VideoFrame.from_ndarray(image, format="rgb24")
    frame = frame.reformat(format=stream.pix_fmt, dst_colorspace=Colorspace.ITU709)
    frame.pts, frame.time_base = pts, base
    return frame
