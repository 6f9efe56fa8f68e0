"""``data prepare --preset``: what its videos are, and that they are the source's."""

from dataclasses import replace

import av
import numpy as np
import pytest

from benchmarks.sample_videos import KINDS
from benchmarks.sample_videos import encode as make
from lit_video.__main__ import main
from lit_video.video.decoding import decode, frame_table


@pytest.mark.parametrize(("preset", "gop", "fast"), [("small", 12, False), ("fast", 12, True), ("fastest", 1, True)])
def test_a_preset_is_how_its_videos_are_encoded(tmp_path, preset, gop, fast):
    src = tmp_path / "src"
    src.mkdir()
    file = src / "source.mp4"
    make(file, replace(KINDS[0], width=96, height=80, frames=40), seed=0)
    assert main(["data", "prepare", str(src), str(tmp_path / "dst"), "--preset", preset, "--crf", "30"]) == 0
    new = tmp_path / "dst/source.mp4"
    x264 = new.read_bytes()  # which notes its options in the stream
    assert [option in x264 for option in (b"cabac=0", b"deblock=0", b"b_pyramid=0")] == [fast, fast, preset == "fast"]
    assert b"crf=30.0" in x264
    with av.open(str(new)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
    keys = [i for i, packet in enumerate(packets) if packet.is_keyframe]
    assert max(np.diff([*keys, len(packets)])) == gop
    assert frame_table(new).pts == range(0, 40 * 512, 512)
    errors = decode(new, range(40)).astype(float) - decode(file, range(40))
    assert 10 * np.log10(255**2 / np.mean(errors**2)) > 27
