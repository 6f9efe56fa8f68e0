"""Test which stream of a file is decoded, from where, and which way up its pictures are, compared with FFmpeg."""

from io import BytesIO

import av
import numpy as np
import pytest
from av.packet import PacketSideData
from PIL import ExifTags, Image

from lit_video.datamodules.preparation import Encoding, reencode
from lit_video.datamodules.probe import probe_video
from lit_video.video.decoding import DecodeError, decode, decode_in_order, frame_table
from tests.shared import shared
from tests.video.made import X265, write

X264_NO_B = "keyint=12:min-keyint=12:scenecut=0:bframes=0"
NEW_EXTRADATA = 1  # AV_PKT_DATA_NEW_EXTRADATA
UNIT = 1 << 16
# a, b, c, d of a display matrix, and the corners of the picture that FFmpeg shows, line by line
SHOWN = {
    (1, 0, 0, 1): "red green / blue white",
    (-1, 0, 0, 1): "green red / white blue",
    (1, 0, 0, -1): "blue white / red green",
    (-1, 0, 0, -1): "white blue / green red",
    (0, 1, 1, 0): "red blue / green white",
    (0, 1, -1, 0): "blue red / white green",
    (0, -1, 1, 0): "green white / red blue",
    (0, -1, -1, 0): "white green / blue red",
    (1, 0.005, -0.005, 1): "red green / blue white",  # less than half a degree
    (-0.005, 1, -1, -0.005): "blue red / white green",
    (2, 0, 0, -0.5): "blue white / red green",  # stretched, which FFmpeg does not show
    (0, 0, 0, 0): "red green / blue white",  # no picture would be left
}
EXIF = [1, 2, 4, 3, 5, 6, 8, 7]  # EXIF's numbers for the first eight matrices
COLOURS = dict(red=(255, 0, 0), green=(0, 255, 0), blue=(0, 0, 255), white=(255, 255, 255))


def corners(shown, height, width):
    """Make a picture whose quarters have these colours."""
    quarters = [[COLOURS[name] for name in line.split()] for line in shown.split(" / ")]
    return np.array(quarters, np.uint8).repeat(height // 2, 0).repeat(width // 2, 1)


def turned(path, matrix):
    """Write two frames of four colours, 32x16, in a lossless codec, with a display matrix."""
    with av.open(str(path), "w") as output:
        stream = output.add_stream("png", rate=5)
        stream.width, stream.height, stream.pix_fmt = 32, 16, "rgb24"
        a, b, c, d = (round(UNIT * each) for each in matrix)
        stream.set_display_matrix([a, b, 0, c, d, 0, 0, 0, 1 << 30])
        for time in range(2):
            frame = av.VideoFrame.from_ndarray(corners(SHOWN[1, 0, 0, 1], 16, 32), format="rgb24")
            frame.pts = time
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return path


@pytest.mark.parametrize(("matrix", "shown"), SHOWN.items(), ids=str)
def test_pictures_are_turned_and_mirrored_as_ffmpeg_shows_them(tmp_path, matrix, shown):
    path, new = turned(tmp_path / "turned.mov", matrix), tmp_path / "prepared.mp4"
    expected = corners(shown, *((32, 16) if matrix[0] ** 2 < matrix[1] ** 2 else (16, 32)))
    assert np.array_equal(decode(path, [1])[0], expected)
    assert np.array_equal(next(decode_in_order(path, [0])), expected)
    info = probe_video(path, "x", every_frame=False)
    assert (info.status, info.height, info.width) == ("ok", *expected.shape[:2])
    reencode(path, new, Encoding(crf=0))
    coarse = decode(new, [1])[0].astype(int)
    assert np.abs(coarse - expected)[2::12, 2::12].max() < 40


@pytest.mark.parametrize(("number", "shown"), enumerate([*SHOWN.values()][:8]))
def test_pictures_are_turned_as_the_exif_of_a_camera_says(tmp_path, number, shown):
    path, picture = tmp_path / "exif.mov", BytesIO()
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = EXIF[number]
    Image.fromarray(corners(SHOWN[1, 0, 0, 1], 16, 32)).save(picture, "JPEG", quality=95, exif=exif)
    with av.open(str(path), "w") as output:
        stream = output.add_stream("mjpeg", rate=5)
        stream.width, stream.height, stream.pix_fmt = 32, 16, "yuvj420p"
        for time in range(2):
            packet = av.Packet(picture.getvalue())
            packet.stream, packet.pts, packet.dts, packet.is_keyframe = stream, time, time, True
            output.mux(packet)
    expected = corners(shown, *((32, 16) if EXIF[number] > 4 else (16, 32)))
    assert np.abs(decode(path, [1])[0].astype(int) - expected)[2::12, 2::12].max() < 40


MIRRORED, UPSIDE_DOWN, QUARTER = b"\x40\0\x14", b"\x20\0\x14", b"\x08\0\x14"  # orientation messages (H.264, D.1.27)


@pytest.mark.parametrize("message", [MIRRORED, UPSIDE_DOWN, QUARTER])
@pytest.mark.parametrize(
    ("codec", "unit", "ending"), [("h264", b"\6", ".mp4"), ("h264", b"\6", ".ts"), ("hevc", b"\x4e\1", ".mp4")]
)
def test_a_message_in_the_first_picture_turns_all_pictures(tmp_path, message, codec, unit, ending):
    whole, path, new = tmp_path / "whole.mp4", tmp_path / f"turned{ending}", tmp_path / "new.mp4"
    how = dict(x264=X264_NO_B) if codec == "h264" else dict(codec="libx265", options={"x265-params": X265})
    write(whole, num_frames=24, height=48, width=64, **how)
    with av.open(str(whole)) as old, av.open(str(path), "w") as output:
        copy = output.add_stream_from_template(old.streams.video[0], opaque=True)
        for i, packet in enumerate(packet for packet in old.demux(video=0) if packet.size):
            if i == 0:
                first = av.Packet(
                    (len(unit) + 6).to_bytes(4, "big") + unit + b"\x2f\3" + message + b"\x80" + bytes(packet)
                )
                first.pts, first.dts, first.time_base, first.is_keyframe = (
                    packet.pts,
                    packet.dts,
                    packet.time_base,
                    True,
                )
                packet = first
            packet.stream = copy
            output.mux(packet)
    plain = decode(whole, range(24))
    turned = {MIRRORED: plain[:, :, ::-1], UPSIDE_DOWN: plain[:, ::-1], QUARTER: np.rot90(plain, 1, (1, 2))}[message]
    assert np.array_equal(decode(path, range(24)), turned)
    assert np.array_equal(decode(path, [20])[0], turned[20])
    assert np.array_equal(np.stack([*decode_in_order(path, range(24))]), turned)
    reencode(path, new, Encoding())
    assert decode(new, [20])[0].shape == turned[20].shape


@pytest.mark.parametrize(("matrix", "angle"), [((1, 1, -1, 1), 45), ((1, 0.02, -0.02, 1), 1), ((1, -1, 1, 1), 315)])
def test_a_slanting_picture_is_refused_with_its_angle_and_the_way_out(tmp_path, matrix, angle):
    path = turned(tmp_path / "slanting.mov", matrix)
    line = f"its header turns the picture by {angle} degrees; encode it upright: ffmpeg -i IN OUT"
    info = probe_video(path, "x", every_frame=True)
    assert (info.status, info.reason) == ("broken", line)
    for read in (
        lambda: decode(path, [0]),
        lambda: list(decode_in_order(path, [0])),
        lambda: reencode(path, tmp_path / "new.mp4", Encoding()),
    ):
        with pytest.raises(DecodeError) as error:
            read()
        assert str(error.value) == f"{path}: {line}"


DEFAULT, COVER = av.stream.Disposition.default, av.stream.Disposition.attached_pic
STILL = dict(codec="mjpeg", options={}, pixels="yuvj420p", num_frames=1)
SMALL, LARGE = dict(num_frames=8, height=24, width=32), dict(num_frames=12)
UNKNOWN = dict(codec="mpeg4", options={"b": "10M"}, num_frames=12)


def joined(path, streams):
    """Join streams with their dispositions into one file; return the paths of each alone."""
    packets, paths = [], []
    with av.open(str(path), "w") as new:
        for i, (how, disposition) in enumerate(streams):
            paths.append(path.with_name(f"{i}{path.suffix}"))
            write(paths[-1], **how)
            with av.open(str(paths[-1])) as old:
                copy = new.add_stream_from_template(old.streams.video[0], opaque=True)
                copy.disposition = disposition
                packets += [(copy, packet) for packet in old.demux(video=0) if packet.size]
        for copy, packet in sorted(packets, key=lambda pair: (pair[1].dts or 0) * pair[1].time_base):
            packet.stream = copy
            new.mux(packet)
    return paths


@pytest.mark.parametrize(
    ("ending", "streams", "best"),
    [
        *[(ending, [(STILL, 0), (SMALL, DEFAULT)], 1) for ending in (".mp4", ".mkv", ".mov")],
        *[(ending, [(SMALL, DEFAULT), (LARGE, DEFAULT)], 1) for ending in (".mp4", ".ts")],
        *[(ending, [(LARGE, DEFAULT), (SMALL, DEFAULT)], 0) for ending in (".mp4", ".mkv", ".ts")],
        *[(ending, [(LARGE, 0), (SMALL, DEFAULT)], 1) for ending in (".mp4", ".mkv")],
        (".mp4", [(STILL, COVER), (SMALL, 0)], 1),
        (".avi", [(UNKNOWN, 0), (SMALL, 0)], 1),
        (".avi", [(SMALL, 0), (UNKNOWN, 0)], 0),
    ],
)
def test_the_best_stream_that_can_be_decoded_is_decoded(tmp_path, ending, streams, best):
    path = tmp_path / f"joined{ending}"
    paths = joined(path, streams)
    path.write_bytes(path.read_bytes().replace(b"FMP4", b"Zz9Q"))  # no codec has this name
    expected = decode(paths[best], range(streams[best][0]["num_frames"]))
    table = frame_table(path)
    assert (table.count, table.height, table.width) == expected.shape[:3]
    assert np.array_equal(decode(path, range(table.count)), expected)
    assert np.array_equal(np.stack([*decode_in_order(path, range(table.count))]), expected)
    assert probe_video(path, "x", every_frame=True).frames == table.count


@pytest.mark.parametrize("codec", ["rawvideo", "msrle", "smc"])
def test_colours_of_a_palette_that_only_the_first_packet_has(tmp_path, codec):
    colours = np.random.default_rng(0).integers(0, 255, (256, 4), dtype=np.uint8)
    colours[:, 0] = 255  # opaque
    numbers = [(np.arange(24 * 32, dtype=np.uint8).reshape(24, 32) // 4 + 9 * i).astype(np.uint8) for i in range(24)]
    path = tmp_path / "palette.mov"
    with av.open(str(path), "w") as output:
        stream = output.add_stream(codec, rate=25, options={"g": "8"})
        stream.width, stream.height, stream.pix_fmt = 32, 24, "pal8"
        for i, picture in enumerate(numbers):
            frame = av.VideoFrame.from_ndarray((picture, colours), format="pal8")
            frame.pts = i
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    expected = colours[np.stack(numbers)][..., 1:]
    assert frame_table(path).count == 24
    for wanted in ([23], [8, 7], range(24), [16]):
        assert np.array_equal(decode(path, wanted), expected[list(wanted)])
    assert np.array_equal(np.stack([*decode_in_order(path, range(24))]), expected)


def test_a_joined_file_whose_parameters_change_is_decoded_in_order(tmp_path):
    first, second, path = (tmp_path / name for name in ("first.mp4", "second.mp4", "joined.flv"))
    write(first, x264=X264_NO_B, num_frames=24)
    write(second, x264=X264_NO_B + ":cabac=0:8x8dct=0:ref=4:weightp=0", num_frames=24)
    with av.open(str(path), "w") as new:
        for source, later in ((first, 0), (second, 24 * 512)):
            with av.open(str(source)) as old:
                stream = old.streams.video[0]
                copy = new.streams.video[0] if later else new.add_stream_from_template(stream, opaque=True)
                parameters = bytes(stream.codec_context.extradata)
                for packet in (packet for packet in old.demux(stream) if packet.size):
                    if later and not packet.pts:
                        change = PacketSideData(NEW_EXTRADATA, len(parameters))
                        change.update(parameters)
                        packet.set_sidedata(change)
                    packet.pts, packet.dts, packet.stream = packet.pts + later, packet.dts + later, copy
                    new.mux(packet)
    expected = np.concatenate([decode(first, range(24)), decode(second, range(24))])
    assert not frame_table(path).keyframes
    for wanted in ([30], [47, 3], range(48)):
        assert np.array_equal(decode(path, wanted), expected[list(wanted)])


@pytest.mark.shared
def test_a_recording_with_two_versions_gives_the_one_that_players_take():
    table = frame_table(shared("data/decode/nasa_13013.mp4"))
    assert (table.count, table.width, table.height) == (390, 480, 270)
