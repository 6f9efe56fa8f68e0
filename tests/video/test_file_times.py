"""Test that seconds count from the start of a file, and that frames are shown as long as FFmpeg shows them."""

from fractions import Fraction

import av
import numpy as np
import pytest

from lit_video.datamodules.probe import packed_table, unpacked_table
from lit_video.video.decoding import DecodeError, decode, frame_table, segment
from tests.video.made import write

BEHIND = 7  # bytes from the start code of MPEG-2's picture coding extension to the byte of repeat_first_field
REPEATED = 0b10  # this bit


@pytest.fixture
def late(tmp_path):
    """Function that writes 50 frames at 25 a second, so many seconds after the sound begins, in a container."""

    def written(seconds, ending="mkv"):
        source = tmp_path / "pictures.mp4"
        write(source, num_frames=50)
        path = tmp_path / f"late.{ending}"
        with av.open(str(source)) as pictures, av.open(str(path), "w") as container:
            (picture_stream,) = pictures.streams.video
            video = container.add_stream_from_template(picture_stream)
            sound = container.add_stream("mp2" if ending == "ts" else "aac", rate=44100, layout="mono")
            for number in range(100):
                frame = av.AudioFrame.from_ndarray(np.zeros((1, 1152), np.int16), "s16", "mono")
                frame.sample_rate = 44100
                frame.pts = 1152 * number
                container.mux(sound.encode(frame))
            for packet in pictures.demux(picture_stream):
                if packet.size:
                    for name in ("pts", "dts"):
                        setattr(packet, name, getattr(packet, name) + int(seconds / packet.time_base))
                    packet.stream = video
                    container.mux(packet)
        return path

    return written


@pytest.mark.parametrize("ending", ["mp4", "mkv", "ts", "mov"])
def test_segments_count_from_the_start_of_the_file_whose_sound_may_begin_first(ending, late):
    path = late(1, ending)
    table = frame_table(path)
    with av.open(str(path)) as container:
        first = next(container.decode(video=0))
        expected = first.time - (container.start_time or 0) / av.time_base
    assert float(table.lead) == pytest.approx(expected, abs=0.002) and expected == pytest.approx(1, abs=0.1)
    begin = float(table.lead)
    assert segment(path, table, start=begin + 1.0, end=begin + 1.4)[0] == 25
    number, part = segment(path, table, start=0.0, end=begin + 0.4)
    assert (number, part.count) == (0, 10)
    with pytest.raises(DecodeError, match="pictures begin at"):
        segment(path, table, start=0.0, end=0.5)
    assert unpacked_table(packed_table(table)).lead == table.lead


@pytest.mark.parametrize("ending", ["mp4", "mkv", "avi", "webm"])
def test_files_whose_pictures_begin_first_have_no_lead(ending, tmp_path):
    path = tmp_path / f"a.{ending}"
    write(path, codec="libvpx" if ending == "webm" else "libx264", num_frames=20)
    assert frame_table(path).lead == Fraction(0)
    assert segment(path, frame_table(path), start=0.2, end=0.4)[0] == 5


@pytest.mark.parametrize("every", [2, 3, 5])
def test_pictures_that_mpeg2_repeats_are_shown_as_long_as_ffmpeg_shows_them(every, tmp_path):
    """Set the mark of a repeated field in some pictures, as films on discs have it."""
    path = tmp_path / "a.m2v"
    write(path, codec="mpeg2video", num_frames=48, form="mpeg2video", options={"bf": "2"})
    content = bytearray(path.read_bytes())
    start = -1
    number = 0
    while (start := content.find(b"\x00\x00\x01\xb5", start + 1)) >= 0:
        if content[start + 4] >> 4 == 8:  # picture coding extension
            content[start + BEHIND] |= REPEATED * (number % every == 0)
            number += 1
    path.write_bytes(content)
    with av.open(str(path)) as container:
        times = [frame.time for frame in container.decode(video=0)]
    table = frame_table(path)
    assert table.count == len(times) == 48
    shown = [table.seconds_at(place) for place in range(48)]
    assert shown == pytest.approx([time - times[0] for time in times], abs=1e-6)
    assert len(decode(path, [0, 47])) == 2
