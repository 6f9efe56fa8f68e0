"""Predictions drawn on videos: a dark band with text along the bottom of every frame."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from textwrap import wrap

import av
import matplotlib
import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import Colorspace
from PIL import Image, ImageDraw, ImageFont

from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import Frames

SMALLEST, LARGEST = 10, 120  # pixels of a letter's height
ACROSS = 0.61  # width of a letter as a share of its height
SHARE = 0.5  # of the picture that a band may cover
FIRST, OTHERS = (255, 255, 255, 255), (190, 200, 210, 255)
BAND = (10, 14, 20, 185)


def draw(record: VideoRecord, target: Path, lines: Sequence[str]) -> None:
    """Write a video with text on every frame: H.264, of the size at which the source is shown, its frames' times.

    The file is whole or not there.

    Raises:
        DecodeError: the source cannot be decoded to its end.
        UserError: the target cannot be written.
    """
    table, part = record.table(), target.with_name(f".{target.name}.part")
    times, base = table.times or range(table.count), table.time_base if table.times else table.seconds / table.count
    frames = record.decode_in_order(range(table.count))
    first = next(frames)
    text = overlay(first.shape[1], first.shape[0], lines)
    try:
        with av.open(f"file:{part}", "w", format="mp4") as container:
            rate = (table.count / table.seconds).limit_denominator(1001)
            stream = container.add_stream("libx264", rate=rate, options={"crf": "18"})
            stream.height, stream.width = first.shape[:2]
            # 4:2:0 has no odd sizes
            stream.pix_fmt = "yuv444p" if stream.height % 2 or stream.width % 2 else "yuv420p"
            context = stream.codec_context
            context.time_base = base
            context.colorspace = context.color_primaries = context.color_trc = Colorspace.ITU709
            for time, image in zip(times, chain([first], frames), strict=True):
                frame = VideoFrame.from_ndarray(blend(image.copy(), text), format="rgb24")
                frame = frame.reformat(format=stream.pix_fmt, dst_colorspace=Colorspace.ITU709)
                frame.pts, frame.time_base = time - times[0], base
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        part.replace(target)
    except (av.FFmpegError, OSError) as error:  # errors of reading are DecodeErrors
        raise UserError(f"--draw {target}: {getattr(error, 'strerror', None) or error}") from error
    finally:
        part.unlink(missing_ok=True)


def blend(image: Frames, text: Frames) -> Frames:
    """Lay RGBA ``(rows, width, 4)`` over the bottom of RGB ``(height, width, 3)``, in place."""
    below = image[len(image) - len(text) :]
    alpha = text[..., 3:].astype(np.uint16)
    below[:] = (text[..., :3] * alpha + below * (255 - alpha) + 127) // 255
    return image


def overlay(width: int, height: int, lines: Sequence[str]) -> Frames:
    """A band with as many of the lines as fit, the first one bright: RGBA ``(rows, width, 4)``.

    The letters, of one width, measure a twentieth of the shorter side, at least 10 pixels; long lines are broken.
    """
    size = min(max(min(width, height) // 20, SMALLEST), LARGEST)
    step, letters = round(1.3 * size), max(1, int((width - size) / (ACROSS * size)))
    rows = [(row, i == 0) for i, line in enumerate(lines) for row in wrap(line, letters)]
    rows = rows[: max(1, int(SHARE * height) // step)]
    image = Image.new("RGBA", (width, step * len(rows) + size // 2), BAND)
    pen = ImageDraw.Draw(image)
    # comes with matplotlib and has the European alphabets
    font = ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSansMono.ttf"), size)
    for i, (row, first) in enumerate(rows):
        pen.text((size // 2, size // 4 + i * step), row, font=font, fill=FIRST if first else OTHERS)
    return np.asarray(image)[-height:]
