"""Videos that are broken or seem to be: how each is made, and the expected outcome."""

import os
from dataclasses import dataclass
from functools import partial

import av
import numpy as np

from tests.video import made

write = partial(made.write, num_frames=30)


def audio(path):
    with av.open(str(path), "w") as output:
        stream = output.add_stream("aac", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 8000
        output.mux(stream.encode(frame))
        output.mux(stream.encode())


def cut(path, share=0.6, **how):
    """Write the beginning of a video, like a download that broke off."""
    write(path, **how)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def end_at_index(path, later):
    """Write an AVI that ends ``later`` bytes behind its last frame."""
    write(path, codec="mpeg4", options={"g": "12"})
    content = path.read_bytes()
    path.write_bytes(content[: content.index(b"idx1") + later])


def zeros_for_data(path, **how):
    """Write a video whose data are zeros, like a download that was allocated and never filled."""
    write(path, container=FASTSTART, **how)
    content = path.read_bytes()
    data = content.index(b"mdat") + 4
    path.write_bytes(content[:data] + bytes(len(content) - data))


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
    """How a file is made, and its number of frames if it can be decoded, or else the reason that must be reported.

    ``decode`` is whether only decoding finds the fault, not the table of frames.
    """

    make: object
    num_frames: int | None = None
    reason: str = ""
    decode: bool = False


# damages of a video's bytes, in place
def flipped(content, rng, at):
    for _ in range(3):
        content[at + rng.randrange(20)] ^= 1 << rng.randrange(8)


def zeroed(content, rng, at):
    content[at : at + 512] = bytes(512)


def missing(content, rng, at):
    del content[at : at + 1000]


DAMAGES = dict(flipped=flipped, zeroed=zeroed, missing=missing)
_X264 = "keyint=12:min-keyint=12:scenecut=0:bframes=2:b-adapt=0"
KINDS = {  # videos to be damaged: a codec in a container
    "av1.mp4": dict(codec="libsvtav1", options={"preset": "10", "g": "12"}),
    "h264.ts": dict(x264=_X264),
    "h264_open.mkv": dict(x264=_X264 + ":open-gop=1"),
    "hevc.mp4": dict(codec="libx265", options={"x265-params": made.X265}),
    "mpeg1.mpg": dict(codec="mpeg1video", options={"bf": "2", "g": "12"}),
    "mpeg4.mkv": dict(codec="mpeg4", options={"bf": "2", "g": "12"}),
    "vp8.webm": dict(codec="libvpx", options={"g": "12", "b": "500k"}),
}

FASTSTART = {"movflags": "faststart"}
BAD_FILES = {
    "cut_no_index.mp4": BadFile(cut, reason="Invalid data"),
    "cut_with_index.mp4": BadFile(lambda p: cut(p, container=FASTSTART), reason="the file ends early"),
    "cut_at_the_end.mp4": BadFile(lambda p: cut(p, 0.97, container=FASTSTART), reason="ends early, 3 or more"),
    "cut.mkv": BadFile(lambda p: cut(p, 0.9), reason="the file ends early: its header announces"),
    "cut.webm": BadFile(lambda p: cut(p, 0.9, codec="libvpx", options={"g": "12"}), reason="the file ends early"),
    "cut.flv": BadFile(lambda p: cut(p, codec="flv1", options={"g": "12"}), reason="the file ends early"),
    "cut.wmv": BadFile(
        lambda p: cut(p, codec="wmv2", options={"g": "12"}), reason="the file ends early: its header announces"
    ),
    "no_index.avi": BadFile(lambda p: end_at_index(p, 0), num_frames=30),
    "half_an_index.avi": BadFile(lambda p: end_at_index(p, 99), num_frames=30),
    "cut_in_its_last_frame.avi": BadFile(lambda p: end_at_index(p, -9), reason="marks packets as corrupt"),
    "zeros.mp4": BadFile(zeros_for_data, reason="no frame can be decoded"),
    "zeros_hevc.mp4": BadFile(lambda p: zeros_for_data(p, **KINDS["hevc.mp4"]), reason="missing from the stream"),
    "zero_bytes.mp4": BadFile(lambda p: p.write_bytes(b""), reason="Invalid data"),
    "text.mp4": BadFile(lambda p: p.write_text("no video\n" * 100), reason="Invalid data"),
    "text.txt": BadFile(lambda p: p.write_text("no video\n" * 100), reason="no video: a playlist, a text"),
    "list_of_files.mp4": BadFile(list_of_files, reason="no video: a playlist"),
    "audio_only.mp4": BadFile(audio, reason="no video stream"),
    "no_frame.mkv": BadFile(lambda p: cut(p, 0.02), reason=""),
    "one_frame.mp4": BadFile(lambda p: write(p, num_frames=1), num_frames=1),
    "three_frames.mp4": BadFile(lambda p: write(p, num_frames=3), num_frames=3),
    "odd_size.mp4": BadFile(lambda p: write(p, height=45, width=63, pixels="yuv444p"), num_frames=30),
    "ten_bit.mp4": BadFile(lambda p: write(p, pixels="yuv420p10le"), num_frames=30),
    "rotated.mp4": BadFile(lambda p: write(p, rotation=90), num_frames=30),
    "variable_rate.mp4": BadFile(lambda p: write(p, pts=made.VARIABLE_PTS), num_frames=40),
    "no_duration.mkv": BadFile(lambda p: write(p, container={"live": "1"}), num_frames=30),
    "huge.mp4": BadFile(lambda p: write(p, num_frames=3, height=2160, width=4096), num_frames=3),
    "wrong_extension.avi": BadFile(lambda p: write(p, form="matroska"), num_frames=30),
    "two_sizes.mp4": BadFile(two_sizes, reason="its frames have several sizes", decode=True),
    "folder.mp4": BadFile(lambda p: p.mkdir(), reason="Is a directory"),
    "no_permission.mp4": BadFile(no_permission, reason="Permission denied"),
    "loop.mp4": BadFile(lambda p: p.symlink_to(p), reason="Too many levels of symbolic links"),
    "missing.mp4": BadFile(lambda p: None, reason="No such file"),
    "pipe.mp4": BadFile(os.mkfifo, reason="neither a file nor a folder"),
}


def build(folder, names=BAD_FILES):
    """Make all bad files; return their paths by name, for root without the one that root can read."""
    paths = {}
    for name in names:
        paths[name] = folder / name
        BAD_FILES[name].make(paths[name])
    if "no_permission.mp4" in paths and os.access(paths["no_permission.mp4"], os.R_OK):
        paths.pop("no_permission.mp4").unlink()
    return paths
