"""Test that no wrong frame is served where FFmpeg's demuxer or decoder logs an error, however often a file is read."""

import numpy as np
import pytest

from lit_video.video.decoding import DecodeError, decode, forget_tables, frame_table
from lit_video.video.decoding.container import open_video, video_stream
from lit_video.video.decoding.packets import seen_packets
from tests.video.made import X265, remux, sequentially, write

FILES = {  # file name: codec and options
    "a.mkv": ("libx264", None),
    "b.webm": ("libvpx", {"g": "12"}),
    "c.webm": ("libvpx-vp9", {"g": "12", "cpu-used": "8", "deadline": "realtime"}),
    "d.mkv": ("libx265", {"preset": "veryfast", "x265-params": X265}),
    "e.wmv": ("wmv2", {"g": "12"}),
    "f.flv": ("libx264", None),
    "g.mkv": ("mpeg4", {"g": "12"}),  # no list of ours
}


def served(path, whole):
    """Return how many frames of a damaged copy are refused, and how many differ from those of the whole file."""
    pictures, times = sequentially(whole)
    table, of_whole = frame_table(path), frame_table(whole)
    seconds = [float((time - times[0]) * of_whole.time_base) for time in times]
    refused = wrong = 0
    for number in range(table.count):
        try:
            (picture,) = decode(path, [number])
        except DecodeError:
            refused += 1
            continue
        place = int(np.argmin([abs(time - table.seconds_at(number)) for time in seconds]))
        wrong += not np.array_equal(picture, pictures[place])
    return refused, wrong


def with_zeros(path, whole):
    """Write a copy with a stretch of zeros at a place where the demuxer says so: in others nothing can be told."""
    content = whole.read_bytes()
    for share in np.arange(0.3, 0.9, 0.03):
        start = int(share * len(content))
        path.write_bytes(content[:start] + bytes(2500) + content[start + 2500 :])
        with open_video(path) as container:
            packets = seen_packets(container, video_stream(container))
        if any(packet.is_behind_error for packet in packets):
            return
    pytest.fail("the demuxer says nothing anywhere")


@pytest.mark.parametrize("name", [name for name in FILES if name != "f.flv"])  # no words in so few frames
def test_a_stretch_of_zeros_at_which_the_demuxer_loses_its_place_spoils_its_group(name, tmp_path):
    codec, options = FILES[name]
    write(tmp_path / name, codec=codec, num_frames=80, options=options)
    with_zeros(tmp_path / f"zeros_{name}", tmp_path / name)
    for _ in range(2):  # FFmpeg's log may leave out what it said of the file before
        forget_tables()
        refused, wrong = served(tmp_path / f"zeros_{name}", tmp_path / name)
        assert wrong == 0 and refused > 0


@pytest.mark.parametrize("lost", [{30}, {31}, {33, 34}, {50}, {40, 41, 42, 43}])
def test_lost_pictures_of_hevc_to_which_others_refer_are_damage(lost, tmp_path):
    write(tmp_path / "a.mp4", codec="libx265", num_frames=72, options={"preset": "veryfast", "x265-params": X265})
    remux(tmp_path / "a.mp4", tmp_path / "b.mp4", keep=lambda i: i not in lost)
    assert served(tmp_path / "b.mp4", tmp_path / "a.mp4")[1] == 0


@pytest.mark.parametrize("name", FILES)
def test_a_gap_alone_is_no_damage(name, tmp_path):
    """Remove whole groups of pictures, as a recorder that pauses does."""
    codec, options = FILES[name]
    write(tmp_path / name, codec=codec, num_frames=60, pts=[i + 40 * (i >= 24) for i in range(60)], options=options)
    table = frame_table(tmp_path / name)
    assert not len(table.damaged)
    assert decode(tmp_path / name, [23, 24, 59]).shape[0] == 3
