"""Test which videos count as trained on, by path and content."""

import os

import pytest

from lit_video.video.clips import VideoRecord
from lit_video.video.trained_on import PART, PARTS_READ, joined, overlap_in_words, seen, trained_on


@pytest.fixture
def files(tmp_path):
    """Two files of one size that differ in the middle, and a folder of pictures."""
    content = bytearray(os.urandom(20 * PART))
    (tmp_path / "a.mp4").write_bytes(content)
    content[5 * PART : 15 * PART] = bytes(10 * PART)
    (tmp_path / "b.mp4").write_bytes(content)
    (tmp_path / "frames").mkdir()
    for i in range(3):
        (tmp_path / f"frames/{i}.png").write_bytes(os.urandom(9))
    return tmp_path


def test_a_video_is_known_by_path_and_content(files):
    known = trained_on([VideoRecord(files / "a.mp4", 0), VideoRecord(files / "frames", 0, fps=1.0)])
    (files / "copy.mov").write_bytes((files / "a.mp4").read_bytes())
    (files / "link.mp4").symlink_to(files / "a.mp4")
    (files / "frames").rename(files / "moved")
    asked = ["a.mp4", "copy.mov", "link.mp4", "moved", "b.mp4", "none.mp4"]
    assert seen(known, [VideoRecord(files / name, 0) for name in asked]) == [True] * 4 + [False] * 2
    (files / "a.mp4").write_bytes(b"cut")  # another file under the same name
    assert seen(known, [VideoRecord(files / "a.mp4", 0)]) == [True]
    both = joined(known, trained_on([VideoRecord(files / "b.mp4", 0)]), "", known)
    assert seen(both, [VideoRecord(files / "b.mp4", 0)]) == [True] and len(both) == 128
    assert (
        joined("", "") == ""
        and overlap_in_words([True, False, True]) == "2 of 3 trained on"
        and not overlap_in_words([False, None])
    )
    with pytest.raises(ValueError):
        joined(known[:-4])


def test_a_part_is_known_where_it_overlaps(files):
    known = trained_on([VideoRecord(files / "a.mp4", 0, start=2.0, end=4.0)])
    spans = [(None, None), (None, 2.0), (3.9, None), (4.0, 9.0)]
    assert seen(known, [VideoRecord(files / "a.mp4", 0, start=span[0], end=span[1]) for span in spans]) == [
        True,
        False,
        True,
        False,
    ]


def test_little_of_a_file_is_read_and_nothing_of_one_that_is_known(files, monkeypatch):
    read = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *where: read.append(where) or pread(*where))
    records = [VideoRecord(files / name, 0) for name in ("a.mp4", "b.mp4")]
    known = trained_on(records[:1])
    assert [size for _, size, _ in read] == [PART] * PARTS_READ
    both = trained_on(records, known)
    assert len(read) == 2 * PARTS_READ and both == trained_on(records)
