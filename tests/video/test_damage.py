"""Test that check and loaders agree: no loader returns what the check calls damaged, all read what it calls sound."""

import random
from contextlib import suppress
from itertools import product

import av
import numpy as np
import pytest

from lit_video.__main__ import main
from lit_video.datamodules.probe import probe_video, unpacked_table
from lit_video.errors import UserError
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import DecodeError, decode, decode_in_order, forget_tables, frame_table
from lit_video.video.decoding.decoder import spoiled
from lit_video.video.sampling import Dense
from tests.video.bad_files import DAMAGES, KINDS
from tests.video.made import GAPS, X264_PYRAMID, X265, remux, sequentially, write
from tests.video.test_bad_files import Videos

FRAMES = 72
LONG = "keyint=36:min-keyint=36:scenecut=0:bframes=3:b-adapt=0"
STREAMS = {
    "b_frames": dict(x264=LONG),
    "pyramid": dict(x264=X264_PYRAMID.replace("24", "36") + ":open-gop=1"),
    "no_b_frames": dict(x264="keyint=36:bframes=0:ref=1:scenecut=0"),
    "intra_refresh": dict(x264="keyint=36:bframes=0:ref=1:intra-refresh=1"),
    "scaling": dict(x264=LONG + ":cqm=jvt"),
    "hevc": dict(codec="libx265", options={"x265-params": X265.replace("12", "36")}),
    "hevc_closed": dict(codec="libx265", options={"x265-params": X265.replace("12", "36") + ":open-gop=0"}),
    "vp9": dict(codec="libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8", "g": "36"}),
    "mpeg4": dict(codec="mpeg4", options={"bf": "2", "g": "36", "sc_threshold": "1000000000"}),
}


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    """Function that returns the path of an intact mp4 by the name of its stream; each is made once."""
    folder = tmp_path_factory.mktemp("verdict")

    def path_of(name):
        path = folder / f"{name}.mp4"
        if not path.exists():
            write(path, num_frames=FRAMES, **STREAMS[name])
        return path

    return path_of


def returned(path, whole, at_once=False):
    """Return the numbers in the whole video of the frames that the loader returns, and the refusals.

    Each frame is decoded alone, or with ``at_once`` first all together that the table does not call damaged.
    """
    pictures, table, numbers, refusals, read = sequentially(whole)[0], frame_table(path), [], {}, {}
    if at_once:
        sound = [i for i in range(table.count) if i not in table.damaged]
        with suppress(DecodeError):
            read = dict(zip(sound, decode(path, sound), strict=True)) if sound else {}
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


SILENT = {"vp9", "mpeg4"}  # streams whose decoders report no lost pictures


REPORTED = sorted(STREAMS.keys() - SILENT)
LOST = [(name, range(40, 52), ending) for name in REPORTED for ending in (".mkv", ".ts")]
LOST += [(name, range(41, 42), ".mkv") for name in REPORTED if name != "pyramid"]  # no frame there refers to frame 41


@pytest.mark.parametrize(("name", "lost", "ending"), LOST)
def test_lost_packets_spoil_their_group_of_pictures(streams, tmp_path, name, lost, ending):
    path = tmp_path / f"lost{ending}"
    remux(streams(name), path, lambda i: i not in lost)
    numbers, refusals = returned(path, streams(name))
    where = frame_table(path).where
    for i, error in refusals.items():
        assert error.startswith(f"{path}: {where([i])} ")
    # no frame behind the loss; H.264's decoder reports it, so frames before it in its group are intact
    assert numbers[:30] == [*range(30)] and not {*range(52, 71)} & {*numbers}
    assert "s without a frame at" in probe_video(path, "x", every_frame=False).gap
    info = probe_video(path, "x", every_frame=True)
    assert info.status == "damaged"
    assert {*unpacked_table(info.table).damaged} >= {*refusals}


@pytest.mark.parametrize("name", REPORTED)
def test_no_wrong_frame_comes_behind_a_lost_key_frame(streams, tmp_path, name):
    path = tmp_path / "lost.mkv"
    remux(streams(name), path, lambda i: not 30 <= i < 41)
    assert returned(path, streams(name))[1]


@pytest.mark.parametrize("name", sorted(SILENT))
def test_lost_packets_that_no_decoder_reports_are_a_gap_that_is_said(streams, tmp_path, name):
    for at in ({40}, {40, 41}, {5, 17, 29, 50, 62}):
        path = tmp_path / f"lost{len(at)}.mkv"
        remux(streams(name), path, lambda i, at=at: i not in at)
        assert "s without a frame at" in probe_video(path, "x", every_frame=True).gap


def test_a_damaged_frame_spoils_its_group_and_a_key_frame_the_one_before_too():
    assert spoiled(range(10), [0, 6], []) == []
    assert spoiled(range(10), [0, 6], [3]) == [0, 1, 2, 3, 4, 5]
    assert spoiled(range(10), [0, 6], [8]) == [6, 7, 8, 9]
    assert spoiled(range(10), [0, 6], [6]) == spoiled(range(10), [], [6]) == [*range(10)]


PAUSE, PAUSES, LATE = (
    [f(i) for i in range(60)] for f in (lambda i: i + 3 * (i > 34), lambda i: i + i // 7, lambda i: i + 90_000)
)


@pytest.mark.parametrize("pts", [GAPS, PAUSE, PAUSES, LATE])
@pytest.mark.parametrize("ending", [".mp4", ".mkv", ".ts"])
def test_pauses_of_a_recording_and_a_late_start_damage_nothing(tmp_path, pts, ending):
    path = tmp_path / f"pauses{ending}"
    write(path, pts=pts)
    assert frame_table(path).damaged == ()
    assert probe_video(path, "x", every_frame=True).status == "ok"


@pytest.mark.parametrize("name", ["b_frames", "hevc"])
def test_lost_and_swapped_transport_packets_are_found(streams, tmp_path, name):
    whole, path = tmp_path / "whole.ts", tmp_path / "lost.ts"
    remux(streams(name), whole)
    content = whole.read_bytes()
    for at in range(len(content) // 752 * 188, len(content) - 20 * 188, 23 * 188):
        here, there = content[at : at + 188], content[at + 188 : at + 376]
        for spoilt in (content[:at] + content[at + 564 :], content[:at] + there + here + content[at + 376 :]):
            path.write_bytes(spoilt)
            forget_tables()
            returned(path, streams(name), at_once=True)


@pytest.mark.parametrize("jump", [95_340.0, -1.0])
def test_sampling_spans_the_frames_where_time_jumps(streams, tmp_path, jump):
    path = tmp_path / "jump.ts"
    remux(streams("b_frames"), path, shift=lambda i, packet: int(max(jump, 0) / packet.time_base) if i >= 36 else 0)
    if jump < 0:  # a stream that is joined to itself
        path.write_bytes(2 * path.read_bytes())
    table = frame_table(path)
    count = FRAMES if jump > 0 else 2 * FRAMES
    assert (table.count, float(table.seconds)) == (count, pytest.approx(count / 25, abs=0.1))
    dataset = ClipDataset([VideoRecord(path, 0)], Dense(1.0), 8, view=None, seed=0)
    for _ in range(20):
        assert len(set(dataset.numbers(VideoRecord(path, 0), 0))) == 8
    if jump > 0:
        assert returned(path, streams("b_frames"))[1] == {}
    pictures = list(sequentially(path)[0].values())
    assert np.array_equal(decode(path, range(count)), np.stack(pictures))
    assert table.counted == (jump < 0) and probe_video(path, "x", every_frame=False).status == "ok"


@pytest.fixture
def damaged_set(streams, tmp_path):
    """Folder with a damaged and a broken video in ``train``; each class of each split has four videos."""
    for split in ("train", "val", "test"):
        for label in "ab":
            (tmp_path / split / label).mkdir(parents=True)
            for i in range(4):
                write(tmp_path / split / label / f"{i}.mkv", num_frames=24)
    remux(streams("no_b_frames"), tmp_path / "train/a/0.mkv", lambda i: not 40 <= i < 52)
    (tmp_path / "train/b/1.mkv").write_text("no video")
    return tmp_path


def listed(folder, paths, **options):
    """Return a data set of these videos, below a folder with a manifest."""
    data = Videos(paths, manifest=str(folder / "manifest.sqlite"), **options)
    data.root = folder
    return data


def test_a_manifest_excludes_what_the_check_calls_broken(damaged_set, capsys):
    assert main(["data", "check", str(damaged_set), "--dataset", "VideoFolder", "--decode"]) == 1
    out = capsys.readouterr().out
    assert "broken (1):\n  train/b/1.mkv: Invalid data found when processing input" in out
    assert "damaged (1):\n  train/a/0.mkv: frame 36 (1.44 s) and 23 more damaged: they cannot be decoded" in out
    paths = sorted(damaged_set.glob("train/*/*.mkv"))
    with pytest.raises(UserError, match=r"data\.manifest: 2 of the train videos are broken or damaged \(first .*a/0\."):
        listed(damaged_set, paths, broken="fail").train_dataloader()
    data = listed(damaged_set, paths, broken="skip", broken_percent=20, batch_size=1)
    broken = {int(raw["video"]): raw["broken"][0] for raw in data.train_dataloader() if raw["broken"][0]}
    assert set(broken) <= {0, 5} and data.found_broken.reasons["train"] == {5: broken[5]}
    with pytest.raises(UserError, match=r"data\.broken_percent: 12\.5 % of the train videos"):
        listed(damaged_set, paths, broken="skip", broken_percent=10).train_dataloader()


def test_damage_that_only_the_decoder_sees_spoils_the_group_and_what_is_decoded_from_it(tmp_path):
    path = tmp_path / "zeroed.mp4"
    write(
        path, x264="keyint=15:scenecut=0:bframes=2:b-adapt=0:ref=1:b-pyramid=none", num_frames=30, height=96, width=128
    )
    content = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
    start = packets[0].pts
    (at,) = (packet.pos for packet in packets if packet.pts - start == 9 * 512)
    content[at + 40 : at + 80] = bytes(40)
    path.write_bytes(content)
    assert probe_video(path, "x", every_frame=False).status == "ok"
    assert len(decode(path, range(7))) == 7
    assert len(decode(path, range(15, 30))) == 15
    for i in (7, 8, 9, 14):  # the first two are shown before frame 9
        with pytest.raises(DecodeError, match=rf"frame {i} \({i / 25:.2f} s\) damaged, says the decoder|Invalid data"):
            decode(path, [i])
    shown = decode_in_order(path, range(30))
    assert len([next(shown) for _ in range(6)]) == 6  # a picture is held until the next one is decoded
    with pytest.raises(DecodeError, match=r"frame 6 .* damaged, says the decoder"):
        next(shown)
    info = probe_video(path, "x", every_frame=True)
    assert (info.status, info.damaged, [*unpacked_table(info.table).damaged]) == ("damaged", 15, [*range(15)])


def test_prepare_makes_no_sound_video_of_a_damaged_one(streams, tmp_path, capsys):
    (tmp_path / "src").mkdir()
    remux(streams("no_b_frames"), tmp_path / "src/lost.mkv", lambda i: not 40 <= i < 52)
    write(tmp_path / "src/sound.mp4", num_frames=12)
    assert main(["data", "prepare", str(tmp_path / "src"), str(tmp_path / "dst")]) == 1
    assert "lost.mkv: frame 39 (1.56 s) damaged, says the decoder" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "dst").glob("*.mp4")] == ["sound.mp4"]


def served(path, whole):
    """Decode frames one by one; return whether each equals the intact video's, by number, and the refused numbers."""
    found, refused = {}, set()
    with suppress(DecodeError):
        table, intact = frame_table(path), frame_table(whole)
        pictures = decode(whole, range(intact.count))
        timed = bool(table.times and intact.times)
        times = np.asarray(intact.times if timed else range(intact.count))
        for i in range(table.count):
            number = int(np.argmin(np.abs(times - (table.times[i] if timed else i))))
            try:
                found[i] = np.array_equal(decode(path, [i])[0], pictures[number])
            except DecodeError:
                refused.add(i)
    return found, refused


def consumers(whole, folder, kind, seed):
    """Damage a copy of a video; return whether it was noticed, and wrong frames without and with a manifest."""
    content, path = bytearray(whole.read_bytes()), folder / f"damaged{whole.suffix}"
    rng = random.Random(f"{whole.name} {kind} {seed}")
    DAMAGES[kind](content, rng, rng.randrange(len(content) // 5, len(content) * 85 // 100))
    path.write_bytes(content)
    info = probe_video(path, "x", every_frame=True)
    forget_tables()
    found, refused = served(path, whole)
    wrong = {i for i, right in found.items() if not right}
    return (
        bool(refused) or info.status != "ok",
        wrong,
        wrong - set(unpacked_table(info.table).damaged if info.table else wrong),
    )


# seeds at which frames beside those that the decoder calls damaged were once served
SERVED = ["av1.mp4 flipped 2", "h264_open.mkv flipped 0", "hevc.mp4 zeroed 0", "mpeg1.mpg zeroed 1"]
SERVED += ["mpeg4.mkv flipped 1", "vp8.webm missing 0", "h264.ts flipped 1"]


@pytest.mark.parametrize("case", SERVED)
def test_no_wrong_frame_beside_damage_is_served(case, tmp_path):
    name, kind, seed = case.split()
    write(tmp_path / name, num_frames=75, height=96, width=128, **KINDS[name])
    noticed, wrong, listed = consumers(tmp_path / name, tmp_path, kind, seed)
    assert not noticed or not (wrong or listed)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_no_wrong_frame_is_served_where_something_was_noticed(name, tmp_path):
    """Damage that FFmpeg does not notice at all stays unnoticed; see docs/tables.md."""
    write(tmp_path / name, num_frames=75, height=96, width=128, **KINDS[name])
    for kind, seed in product(DAMAGES, range(4)):
        noticed, _, listed = consumers(tmp_path / name, tmp_path, kind, seed)
        assert not (noticed and listed), f"{kind} {seed}"
