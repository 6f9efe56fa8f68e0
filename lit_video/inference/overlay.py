"""Predictions drawn on videos: a dark band with text along the bottom of every frame."""

import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av
import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from lit_video.errors import UserError
from lit_video.video.decoding import DecodeError
from lit_video.video.decoding.container import open_video, video_stream
from lit_video.video.encoding import Pixels, h264_stream, video_frame

Font = ImageFont.FreeTypeFont
SMALLEST = 8  # pixels of a font that can be read
SHARE, TINY_SHARE = 0.45, 0.6  # of the picture that a band may cover, and of one that is tiny
FIRST, OTHERS = (255, 255, 255, 255), (190, 200, 210, 255)
BAND = (10, 14, 20, 185)


def drawn_paths(
    target: Path, videos: Sequence[Path], flag: str = "--draw", endings: Sequence[str] = (".mp4",)
) -> dict[Path, Path]:
    """Output path of each video: the target, or a file in it, below the folders in which the videos differ.

    Args:
        target: a file with one of the endings, or a folder.
        videos: videos that are drawn.
        flag: flag of the target, for messages.
        endings: allowed file endings; files in a folder get the first one.

    Raises:
        UserError: several videos, but one file; a folder that cannot be made; a video would be overwritten.
    """
    one_file = target.suffix.lower() in endings and not target.is_dir()
    if one_file and len(videos) > 1:
        raise UserError(f"{flag} {target}: {len(videos)} videos do not fit into one file; give a folder")
    if not one_file and target.suffix and not target.is_dir():
        many = ", ".join(endings)
        raise UserError(f"{flag} {target}: {target.suffix} is not what is drawn; give a file {many}, or a folder")
    resolved = [video.resolve() for video in videos]
    common = Path(os.path.commonpath([video.parent for video in resolved]))
    targets = {video: target for video in videos} if one_file else {}
    for video, full in zip(videos, resolved, strict=True) if not one_file else ():
        path = target / full.relative_to(common)
        targets[video] = path if path.suffix == endings[0] else path.with_name(f"{path.name}{endings[0]}")
    if clash := {path.resolve() for path in targets.values()} & {*resolved}:
        raise UserError(f"{flag} {target}: would write over the video {min(clash)}; give another place")
    for path in targets.values():
        _make_folder(f"{flag} {target}", path.parent, one_file)
    return targets


def _make_folder(given: str, folder: Path, one_file: bool) -> None:
    if one_file and not folder.is_dir():
        raise UserError(f"{given}: no such folder {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{given}: {error.strerror}") from error
    if not os.access(folder, os.W_OK):
        raise UserError(f"{given}: writing there is not permitted")


def draw(source: Path, target: Path, lines: Sequence[str]) -> None:
    """Write a video with text on every frame: H.264, of the size at which the source is shown, its frames' times.

    Rotation is applied to the pixels. The file is whole or not there.

    Raises:
        DecodeError: the source cannot be decoded to its end.
        UserError: the target cannot be written.
    """
    part = target.with_name(f".{target.name}.part")
    try:
        _write(source, part, lines)
        part.replace(target)
    except (av.FFmpegError, OSError) as error:  # errors of reading are DecodeErrors already
        raise UserError(f"--draw {target}: {getattr(error, 'strerror', None) or error}") from error
    finally:
        part.unlink(missing_ok=True)


def _write(source: Path, part: Path, lines: Sequence[str]) -> None:
    container: av.container.OutputContainer | None = None
    try:
        for image, pts, base, rate in pictures(source):
            if container is None:
                container = av.open(f"file:{part}", "w", format="mp4")
                stream = h264_stream(container, image, base, rate)
                text = overlay(image.shape[1], image.shape[0], lines)
            container.mux(stream.encode(video_frame(blend(image, text), stream, pts, base)))
        if container is not None:
            container.mux(stream.encode())
    finally:
        if container is not None:
            container.close()


def pictures(source: Path) -> Iterator[tuple[Pixels, int, Fraction, Fraction]]:
    """Every frame as it is shown, ``(height, width, 3)``, its time from the first one, the unit of time, the rate.

    Raises:
        DecodeError: the video cannot be opened, or not decoded to its end.
    """
    try:
        with open_video(source) as container:
            stream = video_stream(container)
            if stream is None:
                raise DecodeError(f"{source}: no video stream")
            rate = stream.average_rate or Fraction(25)
            counted = container.format.name == "avi"  # it has no times, see decoding.frame_table
            base = 1 / rate if counted or not stream.time_base else stream.time_base
            first, last = None, -1
            for frame in container.decode(stream):
                image = np.rot90(frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False), frame.rotation // 90)
                pts = None if counted else frame.pts
                first = pts if first is None else first
                last = max(last + 1, 0 if pts is None or first is None else pts - first)
                yield np.ascontiguousarray(image), last, base, rate
    except (av.FFmpegError, OSError) as error:
        raise DecodeError(f"{source}: {getattr(error, 'strerror', None) or error}") from error


def blend(image: Pixels, text: Pixels) -> Pixels:
    """Lay RGBA ``(rows, width, 4)`` over the bottom of RGB ``(height, width, 3)``, in place."""
    below = image[len(image) - len(text) :]
    alpha = text[..., 3:].astype(np.uint16)
    below[:] = (text[..., :3] * alpha + below * (255 - alpha) + 127) // 255
    return image


def overlay(width: int, height: int, lines: Sequence[str]) -> Pixels:
    """A band with as many of the lines as fit, the first one bright: RGBA ``(rows, width, 4)``.

    The letters measure a twentieth of the shorter side, but not much less than 11 pixels; long lines are broken. On
    pictures too small for that they measure 8, and what does not fit is cut.
    """
    large = min(max(min(width, height) // 20, 11), 120)
    for count in range(len(lines), 0, -1):
        for size in range(large, round(0.75 * large) - 1, -1):
            font = _font(size)
            rows = [(row, i == 0) for i, line in enumerate(lines[:count]) for row in _broken(line, font, width - size)]
            fits = all(font.getlength(row) <= width - size for row, _ in rows)
            if fits and _step(size) * len(rows) + size // 2 <= SHARE * height:
                return _band(width, rows, font)
    font, room = _font(SMALLEST), width - SMALLEST
    most = max(1, round(TINY_SHARE * height) // _step(SMALLEST))
    short = _broken(lines[0].strip(), font, room)
    short = [*short[: most - 1], " ".join(short[most - 1 :])] if len(short) > most else short
    return _band(width, [(_cut(row, font, room), True) for row in short], font)[-height:]


def _band(width: int, rows: Sequence[tuple[str, bool]], font: Font) -> Pixels:
    size = int(font.size)
    step, margin = _step(size), size // 4
    image = Image.new("RGBA", (width, step * len(rows) + 2 * margin), BAND)
    pen = ImageDraw.Draw(image)
    for i, (row, first) in enumerate(rows):
        pen.text((size // 2, margin + i * step), row, font=font, fill=FIRST if first else OTHERS)
    return np.asarray(image)


def _step(size: int) -> int:
    return round(1.3 * size)


def _broken(line: str, font: Font, width: float) -> list[str]:
    """The line in rows of this width, broken between words."""
    rows: list[str] = []
    for word in line.split(" "):
        longer = f"{rows[-1]} {word}" if rows else word
        if rows and font.getlength(longer) <= width:
            rows[-1] = longer
        else:
            rows.append(word)
    return rows


def _cut(line: str, font: Font, width: float) -> str:
    """As much of the line as fits."""
    if font.getlength(line) <= width:
        return line
    return next((f"{line[:n]}…" for n in range(len(line), 0, -1) if font.getlength(f"{line[:n]}…") <= width), "")


def _font(size: int) -> Font:
    """DejaVu Sans, which comes with matplotlib and has the European alphabets."""
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"), size)
