"""Folders of images, and the memory of frame tables."""

import os
import re
from fractions import Fraction
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.sample_videos import KINDS, Kind, encode
from lit_video.video.augmentation import EvaluationViews
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import DecodeError, decode_images, frame_table, image_table
from lit_video.video.decoding.container import opened
from lit_video.video.decoding.frame_table import TableCache
from lit_video.video.sampling import Dense


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    path = tmp_path_factory.mktemp("video") / "video.mp4"
    encode(path, Kind("tiny", ".mp4", 64, 48, 40, 25, "libx264", KINDS[0].options), seed=0)
    return path


@pytest.fixture
def images(tmp_path):
    """Twelve images 1.png ... 12.png, each of its own grey."""
    for i in range(1, 13):
        Image.new("RGB", (20, 10), (10 * i, 10 * i, 10 * i)).save(tmp_path / f"{i}.png")
    return tmp_path


def test_images_are_frames_in_the_order_of_their_numbers(images):
    assert [int(i[0, 0, 0]) for i in decode_images(images, [0, 1, 9, 11, 1])] == [10, 20, 100, 120, 20]


def test_a_folder_of_images_is_a_video_of_constant_rate(images):
    table = image_table(images, 12)
    assert (table.count, table.seconds, table.height, table.width) == (12, Fraction(1), 10, 20)
    dataset = ClipDataset([VideoRecord(images, 3, 0.5, 1.0, fps=12)], Dense(seconds=9), 2, EvaluationViews(1, 8), 0, 1)
    assert dataset[(0, 0)]["clip"].amax((0, 2, 3, 4)).min() >= 70


def test_only_the_wanted_images_are_read_and_a_broken_one_is_named(images):
    (images / "4.png").write_bytes(b"no image")
    assert decode_images(images, [0, 11]).shape == (2, 10, 20, 3)
    with pytest.raises(DecodeError, match=re.escape(str(images / "4.png"))):
        decode_images(images, [3])


def test_bad_folders_and_rates_are_refused(tmp_path, images):
    Image.new("RGB", (30, 10)).save(images / "2.png")
    (tmp_path / "empty").mkdir()
    for call, error, message in (
        (lambda: decode_images(images, [0, 1]), DecodeError, "several sizes, 20x10 and 30x10"),
        (lambda: image_table(tmp_path / "empty", 25), DecodeError, "no image in this folder"),
        (lambda: image_table(tmp_path / "absent", 25), DecodeError, "No such file"),
        (lambda: decode_images(images, [12]), IndexError, "12 frames"),
        (lambda: image_table(images, 0), ValueError, "^fps is 0, expected more than 0"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_the_table_cache_forgets_what_was_used_longest_ago():
    cache, read = TableCache(len, most=3 * (256 + 10)), []
    table = cache(lambda name: read.append(name) or range(10**6 if name == "long" else 10))
    for name in "abcad":
        assert len(table(name)) == 10
    assert (list(cache), read) == (["c", "a", "d"], [*"abcd"])
    table("long")
    assert list(cache) == ["long"], "one longer than the cache is kept alone"
    table("d")
    assert list(cache) == ["d"]


def test_a_video_is_opened_once_for_its_table_and_its_pixels_and_closed_then(video):
    path = Path(os.path.relpath(video))  # another name: its table is not known yet
    before = len(os.listdir("/proc/self/fd"))
    frame_table(path)
    with opened(path) as container:
        assert len(os.listdir("/proc/self/fd")) <= before + 1
        assert container.streams.video
    assert len(os.listdir("/proc/self/fd")) <= before
