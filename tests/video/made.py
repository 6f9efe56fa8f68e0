"""Videos that tests encode, remux and decode from start to end."""

import os
import random
from contextlib import contextmanager, suppress
from fractions import Fraction
from itertools import count

import av
import numpy as np
import pytest
from av.video.reformatter import VideoReformatter

WIDTH, HEIGHT = 64, 48
X264_CLOSED = "keyint=12:min-keyint=12:scenecut=0:bframes=3:b-adapt=0"
X264_PYRAMID = "keyint=24:min-keyint=24:scenecut=0:bframes=5:b-adapt=0:ref=4:b-pyramid=normal"
# no pool, one frame at a time: with its look-ahead in another thread libx265 crashed once (a null pointer in a list)
X265 = "log-level=none:pools=none:frame-threads=1:keyint=12:min-keyint=12:scenecut=0"
_varying = random.Random(0)
VARIABLE_PTS = [0, *np.cumsum([_varying.choice([1, 2, 3, 17]) for _ in range(39)]).tolist()]
GAPS = [i + 50 * (i > 20) + 400 * (i > 40) for i in range(60)]


def scroll(num_frames, height=HEIGHT, width=WIDTH):
    """Yield noise that scrolls under a blinking square: no two frames are equal, but codecs can predict them."""
    block = max(height // 128, 1)  # random pixels of a large picture would take seconds
    noise = np.random.default_rng(0).integers(0, 255, (-(-height // block), -(-width // block), 3), dtype=np.uint8)
    noise = noise.repeat(block, 0).repeat(block, 1)[:height, :width]
    for i in range(num_frames):
        picture = np.roll(noise, 3 * i, axis=1)
        picture[: height // 3, : width // 3] = 37 * i % 255
        yield picture


@contextmanager
def own_priority():
    """Keep the process's priority: SVT-AV1 makes it a real-time one for root, which starves all others."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    yield
    for thread in os.listdir("/proc/self/task"):
        with suppress(ProcessLookupError):  # the thread has ended
            os.sched_setscheduler(int(thread), policy, parameters)


def write(
    path,
    codec="libx264",
    x264=X264_CLOSED,
    options=None,
    num_frames=60,
    fps=25,
    pts=None,
    time_base=None,
    pixels="yuv420p",
    height=HEIGHT,
    width=WIDTH,
    rotation=None,
    container=None,
    form=None,
    pictures=None,
    comment=None,
):
    """Encode ``pictures``, by default of :func:`scroll`; ``pts`` are in units of ``time_base``.

    With a ``comment``, files of equal pictures have other bytes.
    """
    try:
        av.codec.Codec(codec, "w")
    except av.codec.codec.UnknownCodecError:
        pytest.skip(f"this PyAV has no encoder {codec}")
    time_base = time_base or Fraction(1, fps)
    with own_priority(), av.open(str(path), "w", format=form, options=container or {}) as output:
        if comment is not None:
            output.metadata["comment"] = comment
        stream = output.add_stream(codec, rate=fps)
        stream.width, stream.height, stream.pix_fmt = width, height, pixels
        stream.codec_context.time_base = time_base
        stream.codec_context.thread_count = 1
        stream.options = options or {"preset": "veryfast", "x264-params": x264}
        if rotation is not None:
            stream.set_display_rotation(rotation)
        pictures = scroll(len(pts or range(num_frames)), height, width) if pictures is None else pictures
        for time, picture in zip(pts or count(), pictures, strict=False):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = time, time_base
            output.mux(stream.encode(frame))
        output.mux(stream.encode())


def remux(source, target, keep=lambda i: True, shift=lambda i, packet: 0, options=None):
    """Copy the packets that ``keep`` accepts by number, with shifted times, without decoding."""
    with av.open(str(source)) as old, av.open(str(target), "w", options=options or {}) as new:
        stream = old.streams.video[0]
        copy = new.add_stream_from_template(stream, opaque=True)
        for i, packet in enumerate(packet for packet in old.demux(stream) if packet.size):
            if keep(i):
                later = shift(i, packet)
                packet.pts, packet.dts, packet.stream = packet.pts + later, packet.dts + later, copy
                new.mux(packet)


def sequentially(path, wanted=None):
    """Decode the whole file in order; return pictures by number (all, or the wanted ones) and all times."""
    pictures, times = {}, []
    converter = VideoReformatter()  # one for all frames, as to make one takes ten times as long as to convert a frame
    with av.open(str(path)) as container:
        for i, frame in enumerate(container.decode(container.streams.best("video"))):
            times.append(frame.pts)
            if wanted is None or i in wanted:
                picture = converter.reformat(frame, format="rgb24").to_ndarray()
                pictures[i] = np.rot90(picture, frame.rotation // 90)
    return pictures, times
