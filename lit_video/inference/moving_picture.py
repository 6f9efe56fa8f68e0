"""Pictures that follow each other, as an animated GIF or an MP4."""

import io
from collections.abc import Sequence
from fractions import Fraction

import av
from PIL import Image

from lit_video.video.encoding import Pixels, h264_stream, video_frame

RATE = 4  # pictures a second


def encoded(images: Sequence[Pixels], ending: str) -> bytes:
    """RGB pictures of one size as the content of a ``.gif`` or ``.mp4``, which shows ``RATE`` of them a second."""
    return _gif(images) if ending == ".gif" else _mp4(images)


def _gif(images: Sequence[Pixels]) -> bytes:
    content = io.BytesIO()
    first, *others = [Image.fromarray(image) for image in images]
    first.save(content, format="GIF", save_all=True, append_images=others, duration=1000 // RATE, loop=0)
    return content.getvalue()


def _mp4(images: Sequence[Pixels]) -> bytes:
    content = io.BytesIO()
    base = Fraction(1, RATE)
    with av.open(content, "w", format="mp4") as container:
        stream = h264_stream(container, images[0], base, Fraction(RATE))
        for i, image in enumerate(images):
            container.mux(stream.encode(video_frame(image, stream, i, base)))
        container.mux(stream.encode())
    return content.getvalue()
