"""torchcodec gives PyAV's pixels of every made video, or leaves it to PyAV."""

import random

import av
import numpy as np
import pytest

from lit_video.video.decoding import DecodeError, decode, decoder, frame_table
from tests.video.test_decoding import X265, write
from tests.video.test_verdict import remux

H264 = {
    "b_frames": "keyint=12:bframes=3:b-adapt=0",
    "pyramid": "keyint=250:bframes=5:b-pyramid=normal:ref=4",
    "open_gop": "keyint=24:open-gop=1:bframes=3",
    "intra_refresh": "keyint=12:intra-refresh=1",
    "intra": "keyint=1",
    "slices": "keyint=24:slices=3:weightp=2",
    "interlaced": "keyint=24:bframes=2:tff=1",
}
OTHERS = {
    "vp9": ("libvpx-vp9", {"auto-alt-ref": "1", "lag-in-frames": "16", "cpu-used": "5", "g": "30"}),
    "vp8": ("libvpx", {"auto-alt-ref": "1", "lag-in-frames": "16", "cpu-used": "8", "g": "12"}),
    "av1": ("libsvtav1", {"preset": "12", "g": "20"}),
    "hevc": ("libx265", {"x265-params": X265}),
    "mpeg4": ("mpeg4", {"bf": "2", "g": "12"}),
    "mpeg2": ("mpeg2video", {"bf": "2", "g": "12"}),
}
LEFT = {"intra_refresh", "interlaced"}
SIZES = [(64, 48), (63, 48), (64, 45), (340, 256), (66, 50)]


@pytest.fixture(scope="module")
def torchcodec():
    try:
        return decoder("torchcodec")
    except ValueError as error:
        pytest.skip(str(error))


def make(path, stream, width, height):
    odd = width % 2 or height % 2
    if stream in H264:
        how = dict(x264=H264[stream], pixels="yuv444p" if odd else "yuv420p")
    else:
        how = dict(zip(("codec", "options"), OTHERS[stream], strict=True))
    try:
        write(path, frames=40, width=width, height=height, **how)
    except (av.FFmpegError, ValueError) as error:
        pytest.skip(f"cannot be made: {error}")
    return path


@pytest.mark.parametrize("size", [(64, 48), (64, 45), (63, 48)])
@pytest.mark.parametrize("stream", ["b_frames", "intra_refresh", "vp9"])
def test_odd_sides_and_intra_refresh_are_left_to_pyav(tmp_path, stream, size):
    table = frame_table(make(tmp_path / "video.mp4", stream, *size))
    assert table.plain == (size == (64, 48) and stream not in LEFT)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".mp4", ".mkv"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("stream", [*H264, *OTHERS])
def test_pixels_are_those_of_pyav(torchcodec, tmp_path, stream, size, ending):
    path = make(tmp_path / f"video{ending}", stream, *size)
    assert frame_table(path).plain == (size[0] % 2 == size[1] % 2 == 0 and stream not in LEFT)
    draw = random.Random(0)
    for numbers in ([0], [39], [draw.randrange(40) for _ in range(6)], list(range(40))):
        assert np.array_equal(torchcodec(path, numbers), decode(path, numbers))


def test_frames_behind_lost_packets_are_refused_by_torchcodec_too(torchcodec, tmp_path):
    path = tmp_path / "lost.mkv"
    remux(make(tmp_path / "whole.mp4", "b_frames", 64, 48), path, lambda i: not 13 <= i < 18)
    assert len(torchcodec(path, [0, 11])) == 2
    with pytest.raises(DecodeError, match="pictures that they refer to are lost"):
        torchcodec(path, [0, 15])
