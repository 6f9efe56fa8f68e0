"""Videos that are broken, or seem to be: how each is made, and what has to come of it."""

import os
from dataclasses import dataclass
from fractions import Fraction

import av
import numpy as np


def scroll(frames, height, width):
    block = max(height // 128, 1)  # pixels of a large picture cost seconds where each is another
    noise = np.random.default_rng(0).integers(0, 255, (height // block, width // block, 3), dtype=np.uint8)
    noise = noise.repeat(block, 0).repeat(block, 1)
    for i in range(frames):
        picture = np.roll(noise, 3 * i, axis=1)
        picture[: height // 3, : width // 3] = 37 * i % 255
        yield picture


def write(path, frames=30, height=48, width=64, pixels="yuv420p", pts=None, rotation=None, form=None, options=None):
    """H.264 with B frames, a key frame every 12 frames, 25 frames per second unless ``pts`` (in 1/90 s) says more."""
    base = Fraction(1, 90 if pts else 25)
    with av.open(str(path), "w", format=form, options=options or {}) as output:
        stream = output.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = width, height, pixels
        stream.codec_context.time_base = base
        stream.codec_context.thread_count = 1
        x264 = "keyint=12:min-keyint=12:scenecut=0:bframes=3:b-adapt=0"
        stream.options = {"preset": "veryfast", "x264-params": x264}
        if rotation:
            stream.set_display_rotation(rotation)
        for i, picture in enumerate(scroll(len(pts or range(frames)), height, width)):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = pts[i] if pts else i, base
            output.mux(stream.encode(frame))
        output.mux(stream.encode())


def audio(path):
    with av.open(str(path), "w") as output:
        stream = output.add_stream("aac", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 8000
        output.mux(stream.encode(frame))
        output.mux(stream.encode())


def cut(path, share=0.6, **how):
    """What a download leaves that was broken off."""
    write(path, **how)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def flip_bits(path):
    write(path)
    content = bytearray(path.read_bytes())
    for i in range(2000, len(content) - 2000, 700):  # in the pictures, not in the index
        content[i] ^= 0x55
    path.write_bytes(content)


def no_permission(path):
    write(path)
    path.chmod(0)


def two_sizes(path):
    other = path.with_suffix(".other")
    write(path, form="mpegts")
    write(other, form="mpegts", height=96, width=80)
    path.write_bytes(path.read_bytes() + other.read_bytes())
    other.unlink()


def list_of_files(path):
    write(path.with_name("neighbour.mp4"))
    path.write_text("ffconcat version 1.0\nfile neighbour.mp4\n")


@dataclass
class BadFile:
    """How a file is made, and its number of frames (it is decoded), or the reason that has to be given.

    ``decode`` is whether only decoding finds the fault, not the table of frames.
    """

    make: object
    frames: int | None = None
    reason: str = ""
    decode: bool = False


FASTSTART = {"movflags": "faststart"}
BAD_FILES = {
    "cut_no_index.mp4": BadFile(cut, reason="Invalid data"),
    "cut_with_index.mp4": BadFile(lambda p: cut(p, options=FASTSTART), reason="the file ends early"),
    "cut_at_the_end.mp4": BadFile(lambda p: cut(p, 0.97, options=FASTSTART), reason="ends early, 3 or more"),
    "zero_bytes.mp4": BadFile(lambda p: p.write_bytes(b""), reason="Invalid data"),
    "text.mp4": BadFile(lambda p: p.write_text("no video\n" * 100), reason="Invalid data"),
    "text.txt": BadFile(lambda p: p.write_text("no video\n" * 100), reason="a text, no video"),
    "list_of_files.mp4": BadFile(list_of_files, reason="a list of files, no video"),
    "audio_only.mp4": BadFile(audio, reason="no video stream"),
    "no_frame.mkv": BadFile(lambda p: cut(p, 0.02), reason=""),
    "one_frame.mp4": BadFile(lambda p: write(p, frames=1), frames=1),
    "three_frames.mp4": BadFile(lambda p: write(p, frames=3), frames=3),
    "odd_size.mp4": BadFile(lambda p: write(p, height=45, width=63, pixels="yuv444p"), frames=30),
    "ten_bit.mp4": BadFile(lambda p: write(p, pixels="yuv420p10le"), frames=30),
    "rotated.mp4": BadFile(lambda p: write(p, rotation=90), frames=30),
    "variable_rate.mp4": BadFile(lambda p: write(p, pts=[0, 1, 2, 40, 41, 60, 61, 62, 63, 90]), frames=10),
    "no_duration.mkv": BadFile(lambda p: write(p, options={"live": "1"}), frames=30),
    "huge.mp4": BadFile(lambda p: write(p, frames=3, height=2160, width=4096), frames=3),
    "wrong_extension.avi": BadFile(lambda p: write(p, form="matroska"), frames=30),
    "two_sizes.mp4": BadFile(two_sizes, reason="its frames have several sizes", decode=True),
    "folder.mp4": BadFile(lambda p: p.mkdir(), reason="Is a directory"),
    "no_permission.mp4": BadFile(no_permission, reason="Permission denied"),
    "loop.mp4": BadFile(lambda p: p.symlink_to(p), reason="Too many levels of symbolic links"),
    "missing.mp4": BadFile(lambda p: None, reason="No such file"),
    "pipe.mp4": BadFile(os.mkfifo, reason="neither a file nor a folder"),
}


def build(folder, names=BAD_FILES):
    """Path of every bad file by name; without the one that root can read."""
    paths = {}
    for name in names:
        if name == "no_permission.mp4" and os.geteuid() == 0:
            continue
        paths[name] = folder / name
        BAD_FILES[name].make(paths[name])
    return paths
