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

# in matplotlib, with the European alphabets; a letter is 0.61 of its height wide
FONT = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSansMono.ttf"


def drawn(record: VideoRecord, lines: Sequence[str]) -> bytes:
    """Draw text on every frame of a video: MP4 with H.264, in the size and times at which the source is shown."""
    table, content, band = record.table(), BytesIO(), None
    times, base = table.times or range(table.count), table.time_base if table.times else table.seconds / table.count
    with av.open(content, "w", format="mp4") as container:
        rate = (table.count / table.seconds).limit_denominator(1001)
        stream = container.add_stream("libx264", rate=rate, options={"crf": "18"})
        context = stream.codec_context
        context.time_base = base
        context.colorspace = context.color_primaries = context.color_trc = Colorspace.ITU709
        for time, image in zip(times, record.decode_in_order(range(table.count)), strict=True):
            picture = Image.fromarray(image)
            if band is None:
                stream.width, stream.height = picture.size
                # 4:2:0 has no odd sizes
                stream.pix_fmt = "yuv444p" if picture.width % 2 or picture.height % 2 else "yuv420p"
                band = text_band(*picture.size, lines)
            picture.paste(band, (0, picture.height - band.height), band)
            frame = VideoFrame.from_ndarray(np.asarray(picture), format="rgb24")
            frame = frame.reformat(format=stream.pix_fmt, dst_colorspace=Colorspace.ITU709)
            frame.pts, frame.time_base = time - times[0], base
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return content.getvalue()


def text_band(width: int, height: int, lines: Sequence[str]) -> Image.Image:
    """Draw a translucent band, at most half of the picture, with as many of the lines as fit; long ones are broken."""
    size = min(max(min(width, height) // 20, 10), 120)
    rows = [row for line in lines for row in wrap(drawable(line), max(1, int((width - size) / (0.61 * size))))]
    rows = rows[: max(1, height // 2 // round(1.3 * size))]
    image = Image.new("RGBA", (width, min(height, round(1.3 * size) * len(rows) + size // 2)), (10, 14, 20, 185))
    font = ImageFont.truetype(str(FONT), size)
    for i, row in enumerate(rows):
        ImageDraw.Draw(image).text((size // 2, size // 4 + i * round(1.3 * size)), row, font=font, fill="white")
    return image
