"""Test videos whose times, numbers or beginnings mislead: sound ones are read, and no wrong frame is returned."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from lit_video.datamodules.probe import probe_video
from lit_video.video.decoding import DecodeError, decode, decode_in_order, frame_table, segment
from tests.video.made import X264_CLOSED, remux, sequentially, write
from tests.video.test_damage import FRAMES, STREAMS, returned

OPEN = "keyint=30:min-keyint=30:scenecut=0:bframes=3:b-adapt=0:open-gop=1"
B_FRAMES = {
    "h264": dict(x264=OPEN),
    "closed": dict(x264=X264_CLOSED),
    "mpeg2": dict(codec="mpeg2video", options={"bf": "2", "g": "12"}),
}


@pytest.fixture
def made(tmp_path):
    def make(ending=".mp4", num_frames=FRAMES, **how):
        path = tmp_path / f"whole{ending}"
        write(path, num_frames=num_frames, **how)
        return path

    return make


def keys(path):
    with av.open(str(path)) as container:
        return [i for i, p in enumerate(p for p in container.demux(video=0) if p.size) if p.is_keyframe]


def verdicts(path):
    return [probe_video(path, "x", every_frame=every).status for every in (False, True)]


@pytest.mark.parametrize("ending", [".asf", ".mkv", ".mp4"])
@pytest.mark.parametrize("codec", ["closed", "mpeg2"])
def test_frames_whose_times_are_those_of_decoding_come_as_decoded(made, tmp_path, codec, ending):
    whole, path = made(**B_FRAMES[codec]), tmp_path / f"copy{ending}"
    with av.open(str(whole)) as old, av.open(str(path), "w") as new:
        copy = new.add_stream_from_template(old.streams.video[0], opaque=True)
        for i, packet in enumerate(packet for packet in old.demux(video=0) if packet.size):
            packet.time_base, packet.duration = Fraction(1, 25), 1
            packet.pts, packet.dts, packet.stream = i + 2, i if ending == ".asf" else i + 2, copy
            new.mux(packet)
    expected = np.stack([*sequentially(whole)[0].values()])
    assert np.array_equal(decode(path, range(FRAMES)), expected)
    assert np.array_equal(np.stack([*decode_in_order(path, range(FRAMES))]), expected)
    assert np.array_equal(decode(path, [7])[0], expected[7])
    assert float(frame_table(path).seconds) == pytest.approx(FRAMES / 25)
    assert verdicts(path) == ["ok", "ok"]


def test_frames_that_an_avi_leaves_out_are_in_its_time_and_break_no_promise(made, tmp_path):
    whole, path = made(codec="mpeg4", options={"g": "12"}), tmp_path / "copy.avi"
    remux(whole, path)  # the AVI's times are finer than its frames
    with av.open(str(path)) as container:
        assert container.streams.video[0].frames > 2 * FRAMES
    assert verdicts(path) == ["ok", "ok"]
    assert float(frame_table(path).seconds) == pytest.approx(FRAMES / 25)
    assert segment(path, frame_table(path), start=1.0, end=2.0)[0] == 25
    assert np.array_equal(decode(path, [25])[0], sequentially(whole)[0][25])


def test_a_lost_group_of_an_open_one_damages_what_refers_to_it(made, tmp_path):
    whole, path = made(num_frames=100, x264=OPEN), tmp_path / "lost.mkv"
    _, first, last, _ = keys(whole)
    remux(whole, path, lambda i: not first <= i < last)
    _, refusals = returned(path, whole)
    assert 29 in refusals
    assert verdicts(path) == ["ok", "damaged"]


@pytest.mark.parametrize(("codec", "ending"), [("h264", ".mkv"), ("mpeg2", ".mkv"), ("mpeg2", ".ts")])
def test_a_part_that_begins_at_an_open_group_lacks_the_frames_that_ffmpeg_does_not_show(made, tmp_path, codec, ending):
    whole, path = made(**B_FRAMES[codec]), tmp_path / f"part{ending}"
    start = keys(whole)[1]
    remux(whole, path, lambda i: i >= start)
    count = frame_table(path).count
    pictures = sequentially(whole)[0]
    assert verdicts(path) == ["ok", "ok"]
    assert count == len(sequentially(path)[1]) == FRAMES - start - (1 if codec == "h264" else 2)
    assert np.array_equal(decode(path, range(3)), np.stack([pictures[FRAMES - count + i] for i in range(3)]))


EARLY = {"avoid_negative_ts": "disabled"}


def test_pictures_before_the_time_0_of_matroska_are_no_frames(made, tmp_path):
    whole, path = made(x264=OPEN), tmp_path / "part.mkv"
    start = keys(whole)[1]
    with av.open(str(whole)) as container:
        first = [packet for packet in container.demux(video=0) if packet.size][start].pts
    remux(whole, path, lambda i: i >= start, lambda i, packet: -first, EARLY)
    table = frame_table(path)
    assert len(table.pts) == table.count == FRAMES - start - 1
    assert verdicts(path) == ["ok", "ok"]
    pictures = sequentially(whole)[0]
    expected = np.stack([pictures[i] for i in range(FRAMES - table.count, FRAMES)])
    assert np.array_equal(decode(path, range(table.count)), expected)


def test_pictures_before_the_time_0_are_frames_where_their_key_frame_has_none_either(made, tmp_path):
    whole, path = made(), tmp_path / "early.mkv"
    remux(whole, path, shift=lambda i, packet: -6144, options=EARLY)
    assert np.array_equal(decode(path, range(FRAMES)), np.stack([*sequentially(whole)[0].values()]))


def test_a_header_that_calls_a_picture_a_key_frame_changes_no_pixel(made, tmp_path):
    whole, path = made(codec="mpeg4", options={"g": "36", "b": "4000000"}), tmp_path / "keys.mp4"
    content = bytearray(whole.read_bytes())
    second = content.index(b"stss") + 16  # behind version, count and the first one
    content[second : second + 4] = (20).to_bytes(4, "big")
    path.write_bytes(content)
    expected = np.stack([*sequentially(whole)[0].values()])
    assert np.array_equal(np.stack([decode(path, [i])[0] for i in range(FRAMES)]), expected)


def test_an_avi_that_begins_inside_a_group_is_refused(made, tmp_path):
    path = tmp_path / "part.avi"
    remux(made(codec="mpeg4", options={"g": "12", "sc_threshold": "1000000000"}), path, lambda i: i >= 3)
    assert verdicts(path) == ["broken", "broken"]
    with pytest.raises(DecodeError, match="begins inside a group of pictures, and without times"):
        decode(path, [0])


BEGINS = [("vp9", ".mkv"), ("b_frames", ".mp4"), ("b_frames", ".ts"), ("hevc", ".mkv"), ("mpeg4", ".mkv")]


@pytest.mark.parametrize(("name", "ending"), BEGINS)
def test_a_stream_that_begins_inside_a_group_begins_with_its_first_key_frame(made, tmp_path, name, ending):
    path = tmp_path / f"part{ending}"
    remux(made(**STREAMS[name]), path, lambda i: i >= 3)
    for every in (False, True):
        info = probe_video(path, "x", every_frame=every)
        assert (info.status, info.frames) == ("ok", 36)
    assert np.array_equal(decode(path, range(36)), decode(tmp_path / "whole.mp4", range(36, 72)))


def test_a_long_gap_among_b_frames_is_no_jump_back(made, tmp_path):
    path = tmp_path / "lost.mkv"
    remux(made(num_frames=100, **B_FRAMES["mpeg2"]), path, lambda i: not 35 <= i < 65)
    info = probe_video(path, "x", every_frame=False)
    assert (info.status, frame_table(path).counted) == ("ok", False)
    assert "without a frame" in info.gap


@pytest.mark.parametrize("name", ["2026-11-24T06:08:02.mp4", "http:/127.0.0.1:9/x.mp4", "a %d b.mp4"])
def test_a_name_is_no_address_and_no_pattern(made, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(made(num_frames=3).read_bytes())
    assert len(decode(Path(name), [0, 2])) == 2
    assert probe_video(Path(name), name, every_frame=True).status == "ok"
    with pytest.raises(DecodeError, match="No such file"):
        decode(Path(f"{name}.mkv"), [0])


@pytest.mark.parametrize("ending", [".avi", ".mp4"])
def test_metadata_in_another_encoding_than_utf_8_do_no_harm(made, tmp_path, ending):
    path = tmp_path / f"old{ending}"
    content = made(ending, num_frames=3, comment="Cafe XXX").read_bytes()
    path.write_bytes(content.replace(b"XXX", b"\xe9\xe8\xe0"))
    assert verdicts(path) == ["ok", "ok"]
    assert len(decode(path, [0, 2])) == 2
