"""One verdict on a video: what the check calls damaged no loader returns, what it calls sound every loader reads."""

import json
import os
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from lit_video.__main__ import main
from lit_video.datamodules.probe import probe
from lit_video.errors import UserError
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import DecodeError, decode, forget_tables, frame_table
from lit_video.video.decoding.h264 import FrameNumbers
from lit_video.video.decoding.packets import Packets
from lit_video.video.sampling import Dense
from tests.video.test_bad_files import Videos
from tests.video.test_decoding import GAPS, X264_CLOSED, X264_PYRAMID, X265, sequentially, write

FRAMES = 72
LONG = X264_CLOSED.replace("12", "36")
STREAMS = {
    "b_frames": dict(x264=LONG),
    "pyramid": dict(x264=X264_PYRAMID.replace("24", "36") + ":open-gop=1"),
    "no_b_frames": dict(x264="keyint=36:bframes=0:ref=1:scenecut=0"),
    "intra_refresh": dict(x264="keyint=36:bframes=0:ref=1:intra-refresh=1"),
    "scaling": dict(x264=LONG + ":cqm=jvt"),
    "hevc": dict(codec="libx265", options={"x265-params": X265.replace("12", "36")}),
    "vp9": dict(codec="libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8", "g": "36"}),
    "mpeg4": dict(codec="mpeg4", options={"bf": "2", "g": "36"}),
}


def remux(source, target, keep=lambda i: True, later=lambda i: 0.0):
    """Copy the packets that ``keep`` accepts by number, ``later`` by so many seconds, without decoding."""
    with av.open(str(source)) as old, av.open(str(target), "w") as new:
        stream = old.streams.video[0]
        copy = new.add_stream_from_template(stream, opaque=True)
        for i, packet in enumerate(packet for packet in old.demux(stream) if packet.size):
            if keep(i):
                packet.stream = copy
                packet.pts += int(later(i) / stream.time_base)
                packet.dts += int(later(i) / stream.time_base)
                new.mux(packet)


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    """Path of an intact mp4 by the name of its stream; each is made once."""
    folder = tmp_path_factory.mktemp("verdict")

    def path_of(name):
        path = folder / f"{name}.mp4"
        if not path.exists():
            write(path, frames=FRAMES, **STREAMS[name])
        return path

    return path_of


def returned(path, whole, at_once=False):
    """Numbers in the whole video of the frames that the loader returns, and the refusals.

    Each frame is asked for alone; or first those together that the table does not call damaged, ``at_once``.
    """
    pictures, table, numbers, refusals, read = sequentially(whole)[0], frame_table(path), [], {}, {}
    if at_once:
        sound = [i for i in range(table.count) if i not in table.damaged]
        with suppress(DecodeError):
            read = dict(zip(sound, decode(path, sound), strict=True))
    for i, time in enumerate(table.times):
        number = round((time - table.times[0]) * table.time_base * 25)
        try:
            picture = read[i] if i in read else decode(path, [i])[0]
        except DecodeError as error:
            refusals[i] = str(error)
            continue
        assert np.array_equal(picture, pictures[number]), f"frame {number} of {path.name} is damaged"
        numbers.append(number)
    return numbers, refusals


@pytest.mark.parametrize(("lost", "ending"), [(range(40, 52), ".mkv"), (range(40, 52), ".ts"), (range(41, 42), ".mkv")])
@pytest.mark.parametrize("name", ["b_frames", "pyramid", "no_b_frames", "intra_refresh", "scaling", "hevc"])
def test_frames_that_refer_to_lost_packets_are_refused_with_their_time(streams, tmp_path, name, lost, ending):
    path = tmp_path / f"lost{ending}"
    remux(streams(name), path, lambda i: i not in lost)
    numbers, refusals = returned(path, streams(name))
    assert {*range(36)} - {*numbers} == set()
    if len(lost) == 1 and not refusals:
        pytest.skip("no other frame refers to that one")
    assert len(refusals) > 15
    where = frame_table(path).where
    assert all(error.startswith(f"{path}: {where([i])} ") for i, error in refusals.items())
    info = probe(path, "x", every_frame=True)
    assert info.status == "damaged"
    assert set(range(info.frames)) - {*refusals} >= set(range(36))
    assert info.damaged > 15


@pytest.mark.parametrize("name", ["vp9", "mpeg4"])
def test_where_pictures_have_no_numbers_a_long_gap_inside_a_group_is_a_loss_and_a_short_one_is_told(
    streams, tmp_path, name
):
    path, short = tmp_path / "lost.mkv", tmp_path / "short.mkv"
    remux(streams(name), path, lambda i: not 40 <= i < 52)
    assert len(returned(path, streams(name))[1]) > (15 if name == "vp9" else 1)  # noise makes MPEG-4 begin anew
    assert probe(path, "x", every_frame=False).status == "damaged"
    if name == "vp9":  # MPEG-4 reorders: what is lost leaves several gaps
        remux(streams(name), short, lambda i: i not in {40, 41})
        assert probe(short, "x", every_frame=False).status == "suspicious"


def test_a_lost_group_of_pictures_damages_no_frame_and_is_told(streams, tmp_path):
    path = tmp_path / "lost.mkv"
    write(tmp_path / "whole.mp4", x264=X264_CLOSED)
    remux(tmp_path / "whole.mp4", path, lambda i: not 12 <= i < 24)
    numbers, refusals = returned(path, tmp_path / "whole.mp4")
    assert (len(numbers), refusals) == (48, {})
    info = probe(path, "x", every_frame=False)
    assert (info.status, info.reason) == ("suspicious", "a gap of 0.52 s behind frame 11 (0.44 s)")


@pytest.mark.parametrize("pts", [GAPS, [i + 3 * (i > 34) for i in range(60)], [i + i // 7 for i in range(60)]])
@pytest.mark.parametrize("ending", [".mp4", ".mkv", ".ts"])
def test_pauses_of_a_recording_damage_nothing(tmp_path, pts, ending):
    path = tmp_path / f"pauses{ending}"
    write(path, x264=X264_CLOSED, pts=pts)
    assert frame_table(path).damaged == ()
    assert probe(path, "x", every_frame=True).status == ("suspicious" if pts is GAPS else "ok")


def test_numbers_of_pictures_are_read_from_both_forms_of_h264(streams, tmp_path):
    path = tmp_path / "form.ts"
    remux(streams("b_frames"), path)
    for file in (streams("b_frames"), path):
        with av.open(str(file)) as container:
            stream = container.streams.video[0]
            packets = [packet for packet in container.demux(stream) if packet.size]
            numbers = FrameNumbers(stream.codec_context.extradata)
            assert numbers.lost_before(enumerate(packets)) == []
            assert numbers.lost_before(enumerate(packets[:20] + packets[33:])) == [20]


def test_packets_without_a_readable_picture_are_damaged_and_no_error_of_the_scan(streams, tmp_path):
    path = tmp_path / "lost.mkv"
    remux(streams("b_frames"), path, lambda i: not 40 <= i < 44)
    content = path.read_bytes()
    with av.open(str(path)) as container:
        places = [packet.pos for packet in container.demux(video=0) if packet.size]
    for noise in (bytes(24), b"\xff" * 24, bytes(range(24))):
        for i in (38, 40, 41):
            spoilt = bytearray(content)
            spoilt[places[i] + 4 : places[i] + 28] = noise
            path.write_bytes(spoilt)
            forget_tables()
            assert frame_table(path).damaged, "the loss is found or the packet is unreadable"


def test_lost_transport_packets_are_found(streams, tmp_path):
    whole, path = tmp_path / "whole.ts", tmp_path / "lost.ts"
    remux(streams("b_frames"), whole)
    content = whole.read_bytes()
    for place in range(20, len(content) // 188 - 20, 9):
        path.write_bytes(content[: 188 * place] + content[188 * (place + 3) :])
        forget_tables()
        returned(path, streams("b_frames"), at_once=True)


@pytest.mark.parametrize("ending", [".mkv", ".webm"])
def test_a_missing_end_is_one_verdict(tmp_path, ending):
    path = tmp_path / f"cut{ending}"
    write(path, **(STREAMS["vp9"] if ending == ".webm" else dict(x264=X264_CLOSED)), frames=100)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 9 // 10])
    info = probe(path, "x", every_frame=False)
    assert info.status == "broken"
    assert info.reason.startswith("the file ends early: 4.00 s are announced, the frames end at 3.")
    with pytest.raises(DecodeError, match="the file ends early"):
        decode(path, [0])


@pytest.mark.parametrize("ending", [".mp4", ".mkv", ".ts", ".webm"])
def test_a_late_start_is_sound(tmp_path, ending):
    path = tmp_path / f"late{ending}"
    kind = dict(codec="libvpx", options={"g": "12"}) if ending == ".webm" else dict(x264=X264_CLOSED)
    write(path, pts=[i + 25 * 3600 for i in range(60)], **kind)
    info = probe(path, "x", every_frame=True)
    assert (info.status, info.frames, info.seconds) == ("ok", 60, pytest.approx(2.4))
    assert len(decode(path, [0, 59])) == 2


def test_an_avi_whose_header_promises_more_frames_is_read_and_told_and_a_cut_one_refused(tmp_path):
    path, cut = tmp_path / "more.avi", tmp_path / "cut.avi"
    write(path, codec="mpeg4", options={"g": "12"})
    content = bytearray(path.read_bytes())
    cut.write_bytes(content[: len(content) * 2 // 3])
    for chunk, place in ((b"avih", 16), (b"strh", 32)):
        at = content.index(chunk) + 8 + place
        assert int.from_bytes(content[at : at + 4], "little") == 60
        content[at : at + 4] = (100).to_bytes(4, "little")
    path.write_bytes(content)
    info = probe(path, "x", every_frame=True)
    assert (info.status, info.reason) == ("suspicious", "the header promises 100 frames, 60 are there")
    assert len(decode(path, [0, 59])) == 2
    assert probe(cut, "x", every_frame=False).status == "broken"
    with pytest.raises(DecodeError, match="the file ends early"):
        decode(cut, [0])


@pytest.mark.parametrize("jump", [95_340.0, -1.0])
def test_sampling_spans_the_frames_where_time_jumps(streams, tmp_path, jump):
    path = tmp_path / "jump.ts"
    remux(streams("b_frames"), path, later=lambda i: jump if i >= 36 and jump > 0 else 0.0)
    if jump < 0:  # a stream that is joined to itself
        path.write_bytes(2 * path.read_bytes())
    table = frame_table(path)
    count = FRAMES if jump > 0 else 2 * FRAMES
    assert (table.count, float(table.seconds)) == (count, pytest.approx(count / 25, abs=0.1))
    dataset = ClipDataset([VideoRecord(path, 0)], Dense(1.0), 8, None, 0)
    for _ in range(20):
        assert len(set(dataset.numbers(VideoRecord(path, 0), 0))) == 8
    if jump > 0:
        assert returned(path, streams("b_frames"))[1] == {}
    pictures = list(sequentially(path)[0].values())
    assert np.array_equal(decode(path, range(count)), np.stack(pictures))
    info = probe(path, "x", every_frame=False)
    assert info.status == "suspicious"
    assert ("a jump in time of 95,340" if jump > 0 else "time jumps back by") in info.reason


@pytest.fixture
def damaged_set(streams, tmp_path):
    """A folder with a broken, a damaged and a suspicious video among four in each class of ``train``, and its check."""
    for split in ("train", "val", "test"):
        for label in "ab":
            (tmp_path / split / label).mkdir(parents=True)
            for i in range(4):
                write(tmp_path / split / label / f"{i}.mkv", frames=24, x264=X264_CLOSED)
    remux(streams("no_b_frames"), tmp_path / "train/a/0.mkv", lambda i: not 40 <= i < 52)
    (tmp_path / "train/b/1.mkv").write_text("no video")
    write(tmp_path / "train/b/2.mkv", x264=X264_CLOSED, pts=GAPS)
    return tmp_path


def test_the_check_tells_the_verdicts_and_a_manifest_excludes_what_it_calls_broken(damaged_set, capsys):
    assert main(["data", "check", str(damaged_set), "--dataset", "folder"]) == 1
    out = capsys.readouterr().out
    for line in (
        "broken (1):\n  train/b/1.mkv: Invalid data found when processing input",
        "damaged (1):\n  train/a/0.mkv: frames 40 to 59 (2.08 to 2.84 s) damaged: pictures that they refer to are lost",
        "suspicious (1):\n  train/b/2.mkv: a gap of 2.04 s behind frame 20 (0.80 s) (2 such)",
    ):
        assert line in out
    assert main(["data", "check", str(damaged_set), "--dataset", "folder", "--json"]) == 1
    train = json.loads(capsys.readouterr().out)["splits"]["train"]
    assert [train[key] for key in ("broken", "damaged", "suspicious")] == [1, 1, 1]
    paths = sorted(damaged_set.glob("train/*/*.mkv"))
    manifest = dict(manifest=str(damaged_set / "manifest.sqlite"))

    class Listed(Videos):
        root = damaged_set

    with pytest.raises(UserError, match=r"data\.manifest: 2 of the train videos broken or damaged \(first .*a/0\.mkv"):
        Listed(paths, broken="fail", **manifest).train_dataloader()
    data = Listed(paths, broken="skip", broken_percent=20, batch_size=1, **manifest)
    broken = {int(raw["video"]): raw["broken"][0] for raw in data.train_dataloader() if raw["broken"][0]}
    assert broken[5] == f"{paths[5]}: Invalid data found when processing input"
    assert set(broken) <= {0, 5}
    assert data.found_broken.reasons["train"] == {5: broken[5]}
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "2 of the train videos broken or damaged" in line
    with pytest.raises(UserError, match=r"data\.broken_percent: 12\.5 % of the train videos"):
        Listed(paths, broken="skip", broken_percent=10, **manifest).train_dataloader()


def test_a_damaged_frame_that_only_the_decoder_sees_spoils_those_that_refer_to_it(tmp_path):
    path = tmp_path / "flipped.mp4"
    write(path, x264="keyint=250:bframes=0:ref=1:scenecut=0", frames=30, height=96, width=128)
    content = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
        at = packets[10].pos
        content[at + 40 : at + 80] = bytes(40)
    path.write_bytes(content)
    assert len(decode(path, range(10))) == 10
    for i in (10, 15, 29):
        with pytest.raises(DecodeError, match=rf"frame {i} \({i / 25:.2f} s\) damaged, says the decoder|Invalid data"):
            decode(path, [i])
    info = probe(path, "x", every_frame=True)
    assert (info.status, info.damaged) == ("damaged", 20)
    assert Fraction(info.table["time_base"]) > 0


def test_prepare_makes_no_sound_video_of_a_damaged_one(streams, tmp_path, capsys):
    (tmp_path / "src").mkdir()
    remux(streams("no_b_frames"), tmp_path / "src/lost.mkv", lambda i: not 40 <= i < 52)
    write(tmp_path / "src/sound.mp4", frames=12, x264=X264_CLOSED)
    assert main(["data", "prepare", str(tmp_path / "src"), str(tmp_path / "dst")]) == 1
    assert "lost.mkv: frames 40 to 59 (2.08 to 2.84 s) damaged" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "dst").glob("*.mp4")] == ["sound.mp4"]


def test_a_scan_keeps_no_contents(tmp_path):
    path = tmp_path / "large.mkv"
    with av.open(str(path), "w") as output:
        stream = output.add_stream("rawvideo", rate=25)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for i in range(300):
            output.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((240, 320, 3), i % 255, np.uint8), "rgb24")))
        output.mux(stream.encode())
    assert path.stat().st_size > 30e6
    with av.open(str(path)) as container:
        before = resident()
        packets = Packets(path, container, container.streams.video[0])
        assert len(packets) == 300
        assert resident() - before < 15e6
    assert [place for place, packet in packets.contents({1, 250}) if packet.size == 320 * 240 * 3 // 2] == [1, 250]


def resident():
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
