"""Test that the decoder's frames, in its order and at its times, are the video, whatever its packets hold."""

from contextlib import suppress

import av
import numpy as np
import pytest
from lightning import Trainer

from lit_video.__main__ import main
from lit_video.datamodules.preparation import Encoding, reencode
from lit_video.datamodules.probe import probe_video
from lit_video.datamodules.split_test import SplitTest
from lit_video.engine.progress import ReportBroken
from lit_video.own_videos.finding import OwnVideo
from lit_video.own_videos.plan import _with_gaps
from lit_video.utils.files import is_video
from lit_video.video.decoding import DecodeError, decode, decode_in_order, frame_table
from lit_video.video.decoding.h264 import Parameters, parameters
from tests.checkpoints import QUIET
from tests.shared import shared
from tests.video.made import X264_CLOSED, X265, remux, sequentially, write
from tests.video.test_bad_files import Videos, model
from tests.video.test_odd_videos import keys

VP8 = dict(codec="libvpx", options={"g": "12"})
VP9 = dict(codec="libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8", "g": "12"})


def assert_ffmpegs(path, count=None):
    """Check that number, times and pixels of the frames are those that FFmpeg shows."""
    pictures, times = sequentially(path)
    expected = np.stack([*pictures.values()])
    info = probe_video(path, "x", every_frame=True)
    assert (info.status, info.frames) == ("ok", len(expected)), info.reason
    assert count in (None, len(expected))
    assert list(frame_table(path).pts) in ([], times)
    assert np.array_equal(np.stack([decode(path, [i])[0] for i in range(len(expected))]), expected)
    assert np.array_equal(np.stack([*decode_in_order(path, range(len(expected)))]), expected)


# members of a kind: how each pauses, in units of a frame
PAUSES = {
    "pause": [i + 30 * (i > 20) for i in range(48)],
    "skipped": [i + (i > 20) + (i > 37) for i in range(48)],
    "two_pauses": [i + 9 * (i > 13) + 50 * (i > 30) for i in range(48)],
}
RECORDED = {
    "vp8.webm": VP8,
    "vp9.webm": VP9,
    "av1.mkv": dict(codec="libsvtav1", options={"preset": "10", "g": "12"}),
    "hevc.mp4": dict(codec="libx265", options={"x265-params": X265}),
    "h264.mkv": dict(x264=X264_CLOSED),
    "h264.ts": dict(x264=X264_CLOSED),
    "mjpeg.mov": dict(codec="mjpeg", options={"q": "3"}, pixels="yuvj420p"),
    "prores.mov": dict(codec="prores_ks", options={}, pixels="yuv422p10le"),
    "mpeg4.mkv": dict(codec="mpeg4", options={"bf": "2", "g": "12"}),
    "mpeg2.mkv": dict(codec="mpeg2video", options={"bf": "2", "g": "12"}),
    "lossless.mkv": dict(codec="ffv1", options={"g": "10"}),
}


@pytest.mark.parametrize("pts", PAUSES)
@pytest.mark.parametrize("name", RECORDED)
def test_a_gap_in_time_is_said_and_no_damage(tmp_path, name, pts):
    path = tmp_path / name
    write(path, pts=PAUSES[pts], **RECORDED[name])
    assert_ffmpegs(path, 48)
    info = probe_video(path, "x", every_frame=False)
    start = 0.8 if pts != "two_pauses" else 0.52
    assert f"s without a frame at {start:.2f} s" in info.gap
    assert (info.gap == "") == (frame_table(path).gap == "")


@pytest.mark.parametrize("pts", [range(48), [i + i // 2 for i in range(48)], [2 * i for i in range(48)]])
def test_an_even_rate_pulldown_and_a_slow_rate_have_no_gap(tmp_path, pts):
    path = tmp_path / "even.mkv"
    write(path, pts=[*pts], x264=X264_CLOSED)
    assert probe_video(path, "x", every_frame=True).gap == ""


def folder_of(root, path):
    """Make a data set of which the first video is ``path``."""
    for split in ("train", "val", "test"):
        for label in "ab":
            (root / split / label).mkdir(parents=True)
            write(root / split / label / "1.mkv", num_frames=12)
    path(root / "train/a/1.mkv")


def test_data_check_lists_gaps_and_counts_no_fault(tmp_path, capsys):
    folder_of(tmp_path, lambda path: write(path, pts=PAUSES["pause"], **VP9))
    assert main(["data", "check", str(tmp_path), "--dataset", "VideoFolder"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("gaps in time (1):")
    assert lines[at + 1].startswith("  train/a/1.mkv: 1.24 s without a frame at 0.80 s")


HIDDEN = [(VP8, ".webm", 4, 1), (VP8, ".webm", 4, 0), (VP8, ".nut", 4, 1), (VP9, ".nut", 1, 1)]


@pytest.mark.parametrize(("how", "ending", "bit", "earlier"), HIDDEN)
def test_a_frame_that_is_never_shown_is_none_of_the_video(tmp_path, how, ending, bit, earlier):
    whole, path = tmp_path / "whole.webm", tmp_path / f"hidden{ending}"
    write(whole, num_frames=48, **how)
    with av.open(str(whole)) as old, av.open(str(path), "w") as new:
        stream = old.streams.video[0]
        copy = new.add_stream_from_template(stream, opaque=True)
        for packet in (packet for packet in old.demux(stream) if packet.size):
            if packet.is_keyframe:
                content = bytearray(bytes(packet))
                content[0] ^= 1 << bit  # show_frame
                hidden = av.Packet(bytes(content))
                hidden.pts = hidden.dts = max(0, packet.pts - earlier)
                hidden.time_base, hidden.is_keyframe, hidden.stream = packet.time_base, True, copy
                new.mux(hidden)
            packet.stream = copy
            new.mux(packet)
    with av.open(str(path)) as container:
        assert sum(packet.size > 0 for packet in container.demux(video=0)) == 48 + 4
    assert np.array_equal(sequentially(path)[0][47], sequentially(whole)[0][47])
    assert_ffmpegs(path, 48)


@pytest.mark.parametrize("codec", ["mjpeg", "mpeg4"])
def test_empty_packets_repeat_a_picture_and_do_not_end_the_video(tmp_path, codec):
    whole, path = tmp_path / "whole.mkv", tmp_path / "empty.nut"
    write(whole, codec=codec, options={"q": "3"}, pixels="yuvj420p" if codec == "mjpeg" else "yuv420p", num_frames=12)
    with av.open(str(whole)) as old, av.open(str(path), "w") as new:
        stream = old.streams.video[0]
        copy = new.add_stream_from_template(stream, opaque=True)
        for packet in (packet for packet in old.demux(stream) if packet.size):
            empty = av.Packet(bytearray())
            packet.pts = packet.dts = 2 * packet.pts
            empty.pts = empty.dts = packet.pts + 40
            empty.time_base = packet.time_base
            for one in (packet, empty):
                one.stream = copy
                new.mux(one)
    with av.open(str(path)) as container:
        assert sum(packet.pts is not None and not packet.size for packet in container.demux(video=0)) == 12
    expected = decode(whole, range(12))
    info = probe_video(path, "x", every_frame=True)
    assert (info.status, info.frames, info.seconds) == ("ok", 12, pytest.approx(24 / 25))
    assert np.array_equal(decode(path, range(12)), expected)
    assert np.array_equal(np.stack([*decode_in_order(path, range(12))]), expected)


INTERLACED = X264_CLOSED + ":interlaced=1"


@pytest.mark.parametrize("ending", [".mp4", ".mkv", ".ts", ".h264"])
def test_frames_of_interlaced_h264_are_counted_by_the_decoder(tmp_path, ending):
    path = tmp_path / f"interlaced{ending}"
    write(path, x264=INTERLACED)
    assert frame_table(path).counted
    assert_ffmpegs(path, 60)
    assert float(frame_table(path).seconds) == pytest.approx(60 / 25)


@pytest.mark.parametrize("ending", [".mp4", ".ts"])
@pytest.mark.parametrize("cqm", ["", ":cqm=jvt"])
def test_parameters_of_h264_say_what_a_stream_may_contain(tmp_path, ending, cqm):
    path = tmp_path / f"parameters{ending}"
    for x264, pixels in ((X264_CLOSED, "yuv420p"), (X264_CLOSED, "yuv444p"), (INTERLACED, "yuv420p")):
        write(path, x264=x264 + cqm, pixels=pixels, num_frames=3)
        with av.open(str(path)) as container:
            found = parameters(container.streams.video[0].codec_context.extradata)
        assert found == Parameters(fields=x264 == INTERLACED, gaps=False)
    assert parameters(b"") is parameters(None) is parameters(b"\1\2\3") is parameters(b"\0\0\1\x67\xff") is None


STRICT = "keyint=36:min-keyint=36:scenecut=0:bframes=3:b-adapt=0:weightp=0:ref=2:b-pyramid=strict"


def allow_gaps(path):
    """Set the bit of an mp4's H.264 header that allows gaps in the numbers of frames."""
    with av.open(str(path)) as container:
        extradata = bytes(container.streams.video[0].codec_context.extradata)
    content = path.read_bytes()
    for bit in range(8 * 8, 8 * len(extradata)):
        changed = bytearray(extradata)
        changed[bit // 8] ^= 128 >> bit % 8
        if parameters(bytes(changed)) == Parameters(fields=False, gaps=True):
            path.write_bytes(content.replace(extradata, changed))
            with suppress(av.FFmpegError):  # other bits may look like this one
                sequentially(path)
                return
    raise AssertionError("no such bit")


@pytest.mark.parametrize("allowed", [True, False])
def test_layers_that_were_removed_are_no_loss_where_the_header_allows_it(tmp_path, allowed):
    whole, path = tmp_path / "whole.mp4", tmp_path / "base.mp4"
    write(whole, x264=STRICT, num_frames=72)
    with av.open(str(whole)) as container:
        order = [packet.pts for packet in container.demux(video=0) if packet.size]
    with av.open(str(whole)) as container:
        between = {frame.pts for frame in container.decode(video=0) if frame.pict_type == 3}  # B frames
    remux(whole, path, lambda i: order[i] not in between)
    if allowed:
        allow_gaps(path)
        assert_ffmpegs(path, 20)
    else:
        info = probe_video(path, "x", every_frame=True)
        assert (info.status, info.reason[:18]) == ("broken", "all frames damaged")


def test_leading_pictures_that_can_be_decoded_are_good_and_others_are_no_frames(tmp_path):
    for name, how, fewer in (("radl", "open-gop=0:radl=2", 0), ("rasl", "open-gop=1", 3)):
        whole, path = tmp_path / f"{name}.mkv", tmp_path / f"{name}.ts"
        write(whole, codec="libx265", options={"x265-params": f"{X265}:bframes=3:b-adapt=0:{how}"})
        start = keys(whole)[1]
        remux(whole, path, lambda i, start=start: i >= start)
        with av.open(str(path)) as container:
            packets = sum(packet.size > 0 for packet in container.demux(video=0))
        assert_ffmpegs(path, packets - fewer)


LONG_TAILS = {
    "vp8.webm": VP8,
    "vp9.webm": VP9,
    "flv1.flv": dict(codec="flv1", options={"g": "12"}),
    "h264.flv": dict(x264=X264_CLOSED),
    "wmv2.wmv": dict(codec="wmv2", options={"g": "12"}),
    "msmpeg4.asf": dict(codec="msmpeg4", options={"g": "12"}),
}


@pytest.mark.parametrize("name", LONG_TAILS)
def test_a_long_last_frame_is_no_early_end(tmp_path, name):
    whole, path = tmp_path / f"whole_{name}", tmp_path / name
    write(whole, num_frames=24, **LONG_TAILS[name])
    with av.open(str(whole)) as old, av.open(str(path), "w") as new:
        stream = old.streams.video[0]
        copy = new.add_stream_from_template(stream, opaque=True)
        for i, packet in enumerate(packet for packet in old.demux(stream) if packet.size):
            packet.stream = copy
            if i == 23:
                packet.duration = 8000
            new.mux(packet)
    with av.open(str(path)) as container:
        assert container.duration > 8e6
    assert_ffmpegs(path, 24)


def test_training_and_planning_count_videos_with_gaps(tmp_path, capsys):
    paths = [tmp_path / f"{i}.mkv" for i in range(4)]
    for i, path in enumerate(paths):
        write(path, pts=PAUSES["pause"] if i % 2 else None, num_frames=24, x264=X264_CLOSED)
    data = Videos(paths, num_workers=2)
    settings = dict(max_epochs=1, limit_val_batches=0, callbacks=[ReportBroken()])
    Trainer(accelerator="cpu", **QUIET, **settings).fit(model(), data)
    assert f"2 train videos have gaps in time, and were used ({paths[1]}: 1.24 s" in capsys.readouterr().out

    # a test of training videos, whose indices are those of other videos in the test
    counted = dict(data.found_broken.gaps["train"])
    Trainer(accelerator="cpu", **QUIET).test(model(), SplitTest(data, "train"), verbose=False)
    assert data.found_broken.gaps == {"train": counted, "val": {}, "test": {}, "fresh": {}}

    rows = {path.name: probe_video(path, path.name, every_frame=False) for path in paths}
    (line,) = _with_gaps([OwnVideo(name, "a") for name in rows], rows)
    assert line.startswith("2 videos with gaps in time, used as they are (1.mkv: 1.24 s")


@pytest.mark.parametrize("matrix", ["YCgCo", "bt2020c"])
def test_colours_that_ffmpeg_does_not_convert_are_refused_with_the_reason_and_the_way_out(tmp_path, matrix):
    path = tmp_path / "colours.mp4"
    write(path, x264=f"{X264_CLOSED}:colormatrix={matrix}", num_frames=12)
    info = probe_video(path, "x", every_frame=False)
    assert info.status == "broken"
    for text in ("colours are stored as", "YCgCo" if matrix == "YCgCo" else "BT.2020", "ffmpeg -i IN -vf zscale"):
        assert text in info.reason
    with pytest.raises(DecodeError, match="zscale"):
        reencode(path, tmp_path / "new.mp4", Encoding())


CASES = {  # frames that FFmpeg shows
    "paff_HCAFF1_HHI.ts": 10,
    "roadtrip-vp92-10bit.webm": 72,
    "pause_libvpx-vp9.webm": 119,
    "skip_mjpeg.mov": 96,
    "svct_base_allowed.mp4": 26,
    "radl_segment.ts": 25,
    "tail8.webm": 50,
}


@pytest.mark.shared
@pytest.mark.parametrize("name", CASES)
def test_reported_files_are_what_ffmpeg_shows(name):
    assert_ffmpegs(shared(f"cases/data/{name}"), CASES[name])


@pytest.mark.shared
@pytest.mark.slow
def test_every_other_file_of_the_cases_is_what_ffmpeg_shows():
    # refused for its colours; turned by a message to the decoder; with packets that repeat a picture
    others = {"c420_ycgco_tv.mp4", "seiflip.mp4", "still_theora.ogv"}
    videos = [path for path in sorted(shared("cases/data").rglob("*")) if is_video(path)]
    assert {path.name for path in videos} > {*CASES, *others}
    for path in videos:
        if path.name not in {*CASES, *others}:
            assert_ffmpegs(path)


@pytest.mark.shared
def test_the_rate_of_a_raw_stream_is_that_of_its_header():
    assert frame_table(shared("cases/data/r10_timing.h264")).seconds == 4


@pytest.mark.parametrize(("ending", "codec"), [(".h264", "libx264"), (".hevc", "libx265"), (".m2v", "mpeg2video")])
def test_a_raw_stream_of_another_rate_lasts_as_long_as_in_a_container(tmp_path, ending, codec):
    options = {"libx264": None, "libx265": {"x265-params": X265}, "mpeg2video": {"g": "12"}}[codec]
    fps = 50 if codec == "mpeg2video" else 10
    write(tmp_path / f"raw{ending}", codec=codec, options=options, fps=fps, num_frames=30)
    assert float(frame_table(tmp_path / f"raw{ending}").seconds) == pytest.approx(30 / fps)


@pytest.mark.shared
def test_pictures_that_a_theora_video_repeats_are_shown_longer():
    table = frame_table(shared("cases/data/still_theora.ogv"))
    assert (table.count, [*table.pts]) == (5, [0, 12, 24, 36, 48])
    assert len(decode(shared("cases/data/still_theora.ogv"), range(5))) == 5
