"""Test folders of images as videos."""

import re
from fractions import Fraction

import pytest
from PIL import Image

from lit_video.video.augmentation import EvaluationViews
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import DecodeError, decode_images, image_table
from lit_video.video.sampling import Dense


@pytest.fixture
def images(tmp_path):
    """Folder of twelve images 1.png ... 12.png, each of its own grey."""
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
        (lambda: decode_images(images, [0, 1]), DecodeError, "several sizes"),
        (lambda: image_table(tmp_path / "empty", 25), DecodeError, "no image in this folder"),
        (lambda: image_table(tmp_path / "absent", 25), DecodeError, "No such file"),
        (lambda: decode_images(images, [12]), IndexError, "12 frames"),
    ):
        with pytest.raises(error, match=message):
            call()
