"""Test AVI, which stores no times: where its index agrees with its packets one can seek, else it is read in order."""

import struct
from fractions import Fraction

import av
import numpy as np
import pytest

from lit_video.video.decoding import DecodeError, decode, forget_tables, frame_table
from tests.video.made import sequentially

FRAMES = 40
CODECS = {
    "mjpeg": ("mjpeg", "yuvj420p", {}),
    "mpeg4": ("mpeg4", "yuv420p", {"g": "6"}),
    "mpeg4, B": ("mpeg4", "yuv420p", {"g": "6", "bf": "2"}),
    "msmpeg4": ("msmpeg4", "yuv420p", {"g": "6"}),
    "vp8": ("libvpx", "yuv420p", {"g": "6", "deadline": "realtime"}),
    "ffv1": ("ffv1", "yuv420p", {}),
    "png": ("png", "rgb24", {}),
    "h264, B": ("libx264", "yuv420p", {"g": "6"}),
}
SEEKS = {"mjpeg", "mpeg4", "msmpeg4", "vp8", "ffv1", "png"}


def write_avi(path, kind):
    """Write an AVI file of 40 frames in which a picture moves."""
    codec, pixels, options = CODECS[kind]
    picture = np.random.default_rng(0).integers(0, 255, (8, 8, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = 64, 64, pixels
        for i in range(FRAMES):
            frame = av.VideoFrame.from_ndarray(np.roll(picture, 3 * i, 1), format="rgb24")
            frame.pts, frame.time_base = i, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def assert_equals_in_order(path):
    """Check single frames and clips, from a new file and from one whose table is known."""
    pictures, _ = sequentially(path)
    expected = [*pictures.values()]
    for numbers in ([0], [39], [5, 6], [38, 3, 20], range(FRAMES)):
        forget_tables()
        for _ in range(2):
            assert np.array_equal(decode(path, numbers), [expected[number] for number in numbers])


@pytest.mark.parametrize("kind", CODECS)
def test_avi_seeks_where_frames_are_shown_as_they_are_decoded(tmp_path, kind):
    path = write_avi(tmp_path / "a.avi", kind)
    assert_equals_in_order(path)
    assert bool(frame_table(path).keyframes) == (kind in SEEKS)
    assert float(frame_table(path).seconds) == pytest.approx(FRAMES / 25)


def of_index(content):
    """Return where the entries of AVI's index begin: name, flags, place and size of each chunk, 16 bytes."""
    return content.index(b"idx1") + 8


@pytest.mark.parametrize("fault", ["no index", "a missing entry", "a doubled entry", "moved entries", "a lost chunk"])
@pytest.mark.parametrize("kind", ["mjpeg", "mpeg4"])
def test_an_index_that_disagrees_with_the_packets_is_not_used(tmp_path, kind, fault):
    path = write_avi(tmp_path / "a.avi", kind)
    content = bytearray(path.read_bytes())
    start = of_index(content)
    entries = [bytes(content[start + 16 * i :][:16]) for i in range(FRAMES)]
    if fault == "no index":
        content[start - 8 : start - 4] = b"JUNK"
    elif fault == "a missing entry":
        entries = [*entries[:11], *entries[12:], entries[-1]]
    elif fault == "a doubled entry":
        entries = [*entries[:12], *entries[11:-1]]
    elif fault == "moved entries":
        places = [entry[8:] for entry in (*entries[:4], *entries[5:], entries[-1])]
        entries = [entry[:8] + place for entry, place in zip(entries, places, strict=True)]
    else:  # its name and content are zeros, so the demuxer looks for the next chunk
        offset, size = struct.unpack("<8xII", entries[20])
        base = content.index(b"movi")
        content[base + offset : base + offset + 8 + size] = bytes(8 + size)
    content[start : start + 16 * FRAMES] = b"".join(entries)
    path.write_bytes(content)

    pictures, _ = sequentially(path)
    expected = [*pictures.values()]
    forget_tables()
    count = frame_table(path).count
    assert count == len(expected)
    for numbers in ([count - 1], [25, 7], [13]):
        forget_tables()
        for _ in range(2):
            try:
                frames = decode(path, numbers)
            except DecodeError:  # damage that is told is no wrong frame
                continue
            assert np.array_equal(frames, [expected[number] for number in numbers])
