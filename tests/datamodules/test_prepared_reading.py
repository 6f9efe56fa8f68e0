"""Test that no prepared video needs more pictures for a clip than its source, whatever its codec."""

from importlib import import_module
from itertools import product

import av
import numpy as np
import pytest
from av.video.frame import PictureType

from lit_video.datamodules.preparation import PRESETS, key_distance, reencode
from lit_video.video.decoding import decode, frame_table, pyav
from tests.conftest import quick_or_slow
from tests.video.made import X264_PYRAMID, X265, write

FRAMES = 48
CLIP = 8  # frames
SOURCES = {
    "vp8.webm": dict(codec="libvpx", options={"g": "128"}),
    "vp9.webm": dict(codec="libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8", "g": "128"}),
    "av1.mkv": dict(codec="libsvtav1", options={"preset": "10", "g": "64"}),
    "hevc.mp4": dict(codec="libx265", options={"x265-params": X265}),
    "pyramid.mp4": dict(x264=X264_PYRAMID),
    "without_b.mp4": dict(x264="keyint=250:bframes=0:scenecut=0"),
    "short.mp4": dict(x264="keyint=4:min-keyint=4:bframes=0:scenecut=0"),
    "intra.mp4": dict(x264="keyint=1"),
    "mjpeg.mov": dict(codec="mjpeg", options={"q": "3"}, pixels="yuvj420p"),
    "prores.mov": dict(codec="prores_ks", options={}, pixels="yuv422p10le"),
    "mpeg4.mkv": dict(codec="mpeg4", options={"g": "12"}),
    "mpeg4.avi": dict(codec="mpeg4", options={"g": "12"}),
    "mpeg2.ts": dict(codec="mpeg2video", options={"bf": "2", "g": "12"}),
    "flv1.flv": dict(codec="flv1", options={"g": "12"}),
}


@pytest.fixture
def decoded(monkeypatch):
    """Pictures that the decoder makes for clips, in a list that grows."""
    pictures = []

    def counted(function):
        def count(*args, **keywords):
            for picture in function(*args, **keywords):
                pictures.append(1)
                yield picture

        return count

    monkeypatch.setattr(pyav, "rgb", lambda *args, **keywords: np.zeros((1, 1, 3), np.uint8))
    for name in ("_frames", "judged"):  # from a key frame, and from the start of the file
        monkeypatch.setattr(pyav, name, counted(getattr(pyav, name)))
    return pictures


def needed(path, decoded):
    """Return how many pictures clips of two strides need."""
    decoded.clear()
    for stride in (1, 5):
        for first in range(0, FRAMES - stride * (CLIP - 1), stride + 1):
            decode(path, range(first, first + stride * CLIP, stride)[:CLIP])
    return len(decoded)


# every codec once, and the other presets for a source with few key frames and one with many
QUICK = {*product(SOURCES, ["small"]), *product(["without_b.mp4", "intra.mp4"], PRESETS)}


@pytest.mark.parametrize(("name", "preset"), quick_or_slow(product(SOURCES, PRESETS), QUICK))
def test_a_clip_needs_no_more_pictures_than_before(name, preset, decoded, tmp_path):
    source = tmp_path / name
    target = tmp_path / "prepared.mp4"
    write(source, num_frames=FRAMES, **SOURCES[name])
    reencode(source, target, PRESETS[preset])
    assert needed(target, decoded) <= needed(source, decoded)
    assert key_distance(frame_table(target)) <= key_distance(frame_table(source))


def test_the_table_of_a_prepared_video_takes_no_decoding(decoded, tmp_path, monkeypatch):
    source = tmp_path / "source.webm"
    target = tmp_path / "prepared.mp4"
    write(source, num_frames=FRAMES, **SOURCES["vp9.webm"])
    reencode(source, target, PRESETS["small"])

    def refuse(*args):
        raise AssertionError("a frame is decoded")

    monkeypatch.setattr(import_module("lit_video.video.decoding.table_reading"), "islice", refuse)
    assert frame_table(target).count == FRAMES


def test_most_pictures_are_left_out(tmp_path):
    source = tmp_path / "source.mp4"
    target = tmp_path / "prepared.mp4"
    write(source, num_frames=FRAMES, x264="keyint=250:bframes=0:scenecut=0")
    reencode(source, target, PRESETS["small"])

    with av.open(str(target)) as container:
        kinds = "".join(PictureType(frame.pict_type).name for frame in container.decode(video=0))
    assert kinds == FRAMES // 12 * "IBBBPBBBPBBP"
