"""A video in one small picture: frames from its beginning to its end, side by side, so that motion shows."""

from PIL import Image

from lit_video.runs.mistakes import STRIP_HEIGHT, STRIP_WIDTH
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import DecodeError, segment

FRAME_GAP = 4  # pixels between two frames
MOST_SHOWN = 8
FEWEST_SHOWN = 3


def film_strip(record: VideoRecord) -> Image.Image:
    """Return a strip of a video's frames, of ``STRIP_WIDTH`` by ``STRIP_HEIGHT`` pixels; grey if it is unreadable.

    The frames that fit beside each other, at least three and at most eight, are scaled to the strip's height; if not
    even three would fit, they are scaled to a third of the strip's width.
    """
    try:
        first, table = segment(record.path, record.table(), start=record.start, end=record.end)
        frames = [Image.fromarray(frame) for frame in record.decode(_evenly(first, table.count, MOST_SHOWN))]
    except DecodeError:
        return Image.new("RGB", (STRIP_WIDTH, STRIP_HEIGHT), "grey")

    # the largest size with a frame's proportions that fits three times into a strip
    widest = (STRIP_WIDTH + FRAME_GAP) // FEWEST_SHOWN - FRAME_GAP
    scale = min(STRIP_HEIGHT / frames[0].height, widest / frames[0].width)
    width = max(1, round(scale * frames[0].width))
    height = max(1, round(scale * frames[0].height))
    # if a frame is enlarged, its pixels stay visible as squares, because the model sees no more
    resampling = Image.Resampling.NEAREST if width >= frames[0].width else Image.Resampling.LANCZOS

    number = min(len(frames), (STRIP_WIDTH + FRAME_GAP) // (width + FRAME_GAP))
    shown = [frames[i] for i in _evenly(0, len(frames), number)]

    strip = Image.new("RGB", (STRIP_WIDTH, STRIP_HEIGHT), "black")
    taken = number * width + (number - 1) * FRAME_GAP
    for i, frame in enumerate(shown):
        left = (STRIP_WIDTH - taken) // 2 + i * (width + FRAME_GAP)
        strip.paste(frame.resize((width, height), resampling), (left, (STRIP_HEIGHT - height) // 2))
    return strip


def _evenly(first: int, count: int, number: int) -> list[int]:
    """Return ``number`` of ``count`` numbers, evenly from the first to the last; all of them if they are fewer."""
    number = min(number, count)
    if number == 1:
        return [first + count // 2]
    return [first + round(i * (count - 1) / (number - 1)) for i in range(number)]
