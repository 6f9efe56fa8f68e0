"""Predictions drawn on videos: a dark band with text along the bottom of every frame."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from textwrap import wrap

import av
import matplotlib
import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import Colorspace
from PIL import Image, ImageDraw, ImageFont

from lit_video.utils.text import drawable
from lit_video.video.clips import VideoRecord

SMALLEST, LARGEST = 10, 120  # pixels of a letter's height
ACROSS = 0.61  # width of a letter as a share of its height
SHARE = 0.5  # largest share of the picture that a band covers
FIRST, OTHERS = (255, 255, 255, 255), (190, 200, 210, 255)
BAND = (10, 14, 20, 185)


def drawn(record: VideoRecord, lines: Sequence[str]) -> bytes:
    """Draw text on every frame of a video: MP4 with H.264, in the size and times at which the source is shown.

    Raises:
        DecodeError: the source cannot be decoded to its end.
    """
    table, content, text = record.table(), BytesIO(), None
    times, base = table.times or range(table.count), table.time_base if table.times else table.seconds / table.count
    with av.open(content, "w", format="mp4") as container:
        rate = (table.count / table.seconds).limit_denominator(1001)
        stream = container.add_stream("libx264", rate=rate, options={"crf": "18"})
        context = stream.codec_context
        context.time_base = base
        context.colorspace = context.color_primaries = context.color_trc = Colorspace.ITU709
        for time, image in zip(times, record.decode_in_order(range(table.count)), strict=True):
            if text is None:
                stream.height, stream.width = image.shape[:2]
                # 4:2:0 has no odd sizes
                stream.pix_fmt = "yuv444p" if stream.height % 2 or stream.width % 2 else "yuv420p"
                text = overlay(stream.width, stream.height, lines)
            picture = Image.fromarray(image)
            picture.paste(text, (0, stream.height - text.height), text)
            frame = VideoFrame.from_ndarray(np.asarray(picture), format="rgb24")
            frame = frame.reformat(format=stream.pix_fmt, dst_colorspace=Colorspace.ITU709)
            frame.pts, frame.time_base = time - times[0], base
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return content.getvalue()


def overlay(width: int, height: int, lines: Sequence[str]) -> Image.Image:
    """Draw a translucent band with as many of the lines as fit, the first one bright: RGBA.

    The letters, of one width, measure a twentieth of the shorter side, at least 10 pixels; long lines are broken.
    """
    size = min(max(min(width, height) // 20, SMALLEST), LARGEST)
    step, letters = round(1.3 * size), max(1, int((width - size) / (ACROSS * size)))
    rows = [(row, i == 0) for i, line in enumerate(lines) for row in wrap(drawable(line), letters)]
    rows = rows[: max(1, int(SHARE * height) // step)]
    image = Image.new("RGBA", (width, step * len(rows) + size // 2), BAND)
    pen = ImageDraw.Draw(image)
    # comes with matplotlib and has the European alphabets
    font = ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSansMono.ttf"), size)
    for i, (row, first) in enumerate(rows):
        pen.text((size // 2, size // 4 + i * step), row, font=font, fill=FIRST if first else OTHERS)
    return image.crop((0, max(0, image.height - height), width, image.height))
