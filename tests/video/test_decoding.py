"""Test that decode() gives the pixels of sequential decoding, for every codec, container and index set."""

import random
from fractions import Fraction

import numpy as np
import pytest

from lit_video.video.decoding import decode, decode_in_order, frame_table
from tests.shared import SHARED
from tests.video.made import (
    GAPS,
    VARIABLE_PTS,
    X264_CLOSED,
    X264_PYRAMID,
    X265,
    sequentially,
    write,
)

# how each file is made; its name says what is hard about it
MADE = {
    "b_frames_gop_12.mp4": dict(x264=X264_CLOSED),
    "b_pyramid.mp4": dict(x264=X264_PYRAMID),
    "gop_250.mp4": dict(x264="keyint=250:scenecut=0:bframes=3:b-adapt=0", num_frames=90),
    "all_intra.mp4": dict(x264="keyint=1"),
    "open_gop.mp4": dict(x264=X264_CLOSED + ":open-gop=1"),
    "open_gop.ts": dict(x264=X264_CLOSED + ":open-gop=1"),
    "intra_refresh.mp4": dict(x264="keyint=12:intra-refresh=1"),
    "fragmented.mp4": dict(x264=X264_CLOSED, container={"movflags": "frag_keyframe+empty_moov"}),
    "variable_rate.mp4": dict(x264=X264_CLOSED, pts=VARIABLE_PTS, time_base=Fraction(1, 90)),
    "no_duration.mkv": dict(x264=X264_CLOSED, container={"live": "1"}),
    "vp8_hidden_frames.webm": dict(codec="libvpx", options={"auto-alt-ref": "1", "lag-in-frames": "16", "g": "30"}),
    "vp9_hidden_frames.webm": dict(
        codec="libvpx-vp9", options={"auto-alt-ref": "1", "lag-in-frames": "25", "cpu-used": "5", "g": "30"}
    ),
    "vp9_no_duration.webm": dict(
        codec="libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8", "g": "12"}, container={"live": "1"}
    ),
    "late_start.mp4": dict(x264=X264_CLOSED, pts=[i + 200 for i in range(60)]),
    "late_start.ts": dict(x264=X264_CLOSED, pts=[i + 200 for i in range(60)]),
    "cut_by_edit_list.mp4": dict(
        # cut like by "ffmpeg -ss ... -c copy": frames before time 0 are in the file but not shown
        x264=X264_CLOSED,
        pts=[i - 7 for i in range(60)],
        container={"avoid_negative_ts": "disabled"},
    ),
    "one_frame.mp4": dict(x264=X264_CLOSED, num_frames=1),
    "three_frames.mp4": dict(x264=X264_CLOSED, num_frames=3),
    "ten_bit.mp4": dict(x264=X264_CLOSED, pixels="yuv420p10le", height=46, width=62),
    "odd_size.mp4": dict(x264=X264_CLOSED, pixels="yuv444p", height=45, width=63),
    "mpeg4_b_frames.avi": dict(codec="mpeg4", options={"bf": "2", "g": "12"}),
    "h264_b_frames.avi": dict(x264=X264_CLOSED),
    "equal_times.mkv": dict(x264=X264_CLOSED, fps=2000),  # times are whole milliseconds
    "no_timestamps.h264": dict(x264=X264_CLOSED),
    "mpeg2.mpg": dict(codec="mpeg2video", options={"bf": "2", "g": "12"}),
    "hevc_open_gop.mp4": dict(codec="libx265", options={"x265-params": X265}),
    "hevc_temporal_layers.mp4": dict(codec="libx265", options={"x265-params": X265 + ":temporal-layers=3:b-adapt=0"}),
    "interlaced.ts": dict(codec="mpeg2video", options={"bf": "2", "g": "12", "flags": "+ildct+ilme"}),
    "gaps.mp4": dict(x264=X264_CLOSED, pts=GAPS),
    "negative_times.mkv": dict(x264=X264_CLOSED, pts=list(range(-7, 53))),
    "slices_and_weights.mp4": dict(x264=X264_PYRAMID + ":slices=3:weightp=2", num_frames=120),
    "hevc_open_gop.ts": dict(codec="libx265", options={"x265-params": X265}),
    "hevc_ten_bit.mp4": dict(codec="libx265", options={"x265-params": X265}, pixels="yuv420p10le"),
    "av1.mp4": dict(codec="libsvtav1", options={"preset": "10", "g": "20"}),
    "mjpeg.mov": dict(codec="mjpeg", options={"q": "3"}, pixels="yuvj420p"),
    "lossless.mkv": dict(codec="ffv1", options={"g": "10"}),
    "windows.asf": dict(codec="wmv2", options={"g": "12"}),
    "grey_palette.mov": dict(codec="qtrle", options={"g": "12"}, pixels="gray"),
    "no_key_frames.swf": dict(codec="flv", options={"g": "12"}),
    "animation.apng": dict(codec="apng", options={}, pixels="rgb24"),
    "broadcast.m2ts": dict(x264=X264_CLOSED),
    "b_frames.flv": dict(x264=X264_CLOSED),
    "b_frames.nut": dict(x264=X264_CLOSED),
    "no_timestamps.m2v": dict(codec="mpeg2video", options={"bf": "2", "g": "12"}),
    "broadcast.mxf": dict(codec="mpeg2video", options={"bf": "2", "g": "12"}),
    "no_timestamps.hevc": dict(codec="libx265", options={"x265-params": X265}),
    "vp9.ivf": dict(codec="libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8", "g": "12"}),
    "animation.gif": dict(codec="gif", pixels="rgb8", options={"gifflags": "0"}),
    "telephone.3gp": dict(codec="h263", options={"g": "12"}, height=144, width=176),
}


def index_sets(count, draws, seed=0):
    """Yield ends, everything backwards (short videos), and random sets: scattered, dense, unsorted, with repeats."""
    rng = random.Random(seed)
    yield [0]
    yield [count - 1]
    yield [count - 1, 0, count - 1]
    if count <= 100:
        yield list(range(count))[::-1]
    for _ in range(draws):
        yield [rng.randrange(count) for _ in range(rng.randint(1, 8))]
        start = rng.randrange(count)
        yield sorted(rng.choices(range(start, min(start + 16, count)), k=8))


def assert_bit_equal_to_sequential(path, draws):
    table = frame_table(path)
    sets = list(index_sets(table.count, draws))
    pictures, times = sequentially(path, set().union(*sets))
    assert table.count == len(times)
    assert list(table.pts) in ([], times)
    for numbers in sets:
        actual = decode(path, numbers)
        expected = np.stack([pictures[i] for i in numbers])
        assert actual.dtype == np.uint8
        assert actual.shape == expected.shape
        assert np.array_equal(actual, expected), f"{path.name}: other pixels for {numbers}"
    in_order = sorted(numbers)
    assert np.array_equal(np.stack([*decode_in_order(path, in_order)]), decode(path, in_order))


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Function that returns the path of a made video by its name; each is made once."""
    folder = tmp_path_factory.mktemp("decoding")

    def path_of(name):
        path = folder / name
        if not path.exists():
            write(path, **MADE[name])
        return path

    return path_of


def shared_files():
    data = SHARED / "data"
    files = [*sorted((data / "decode").glob("*")), *sorted((data / "avletters").glob("*.mp4"))[::104]]
    absent = pytest.param(None, marks=pytest.mark.skip(reason=f"no files in {data}"))
    return [pytest.param(file, marks=pytest.mark.shared) for file in files] or [absent]


@pytest.mark.parametrize("name", MADE)
def test_made_video_decodes_to_the_pixels_of_sequential_decoding(made, name):
    assert_bit_equal_to_sequential(made(name), draws=10)


@pytest.mark.parametrize("path", shared_files(), ids=lambda path: path.name if path else "absent")
def test_recorded_video_decodes_to_the_pixels_of_sequential_decoding(path):
    assert_bit_equal_to_sequential(path, draws=3)


@pytest.mark.parametrize(
    ("name", "seconds", "start"),
    [
        ("b_frames_gop_12.mp4", Fraction(60, 25), 0),
        ("no_duration.mkv", Fraction(60, 25), 0),
        ("late_start.ts", Fraction(60, 25), 8),
        ("cut_by_edit_list.mp4", Fraction(53, 25), 0),
        ("one_frame.mp4", Fraction(1, 25), 0),
        ("mpeg4_b_frames.avi", Fraction(60, 25), None),
        ("no_timestamps.h264", Fraction(60, 25), None),
        # the last frame lasts as long as the one before it
        ("variable_rate.mp4", Fraction(2 * VARIABLE_PTS[-1] - VARIABLE_PTS[-2], 90), 0),
    ],
)
def test_frame_table_knows_duration_and_start(made, name, seconds, start):
    table = frame_table(made(name))
    assert table.seconds == seconds
    assert start is None or table.pts[0] * table.time_base == start


@pytest.mark.parametrize("numbers", [[60], [0, 1, 75], [-1]])
def test_number_beyond_the_video_is_an_index_error_that_names_it(made, numbers):
    path = made("b_frames_gop_12.mp4")
    with pytest.raises(IndexError) as error:
        decode(path, numbers)
    assert str(path) in str(error.value)
    assert str(numbers[-1]) in str(error.value)
    assert "60 frames" in str(error.value)
