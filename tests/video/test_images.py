"""Test folders of images as videos."""

import re
import time
from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image

from lit_video.video.augmentation import EvaluationViews
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import DecodeError, decode_images, image_table
from lit_video.video.decoding import images as images_module
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
    record = VideoRecord(images, 3, start=0.5, end=1.0, fps=12)
    dataset = ClipDataset([record], Dense(seconds=9), 2, view=EvaluationViews(1, 8), seed=0, clips=1)
    assert dataset[(0, 0)]["clip"].amax((0, 2, 3, 4)).min() >= 70


def test_only_the_wanted_images_are_read_and_a_broken_one_is_named(images):
    (images / "4.png").write_bytes(b"no image")
    assert decode_images(images, [0, 11]).shape == (2, 10, 20, 3)
    with pytest.raises(DecodeError, match=re.escape(str(images / "4.png"))):
        decode_images(images, [3])


@pytest.mark.parametrize(
    ("pixels", "shape"), [("gray16be", (10, 20)), ("rgb48be", (10, 20, 3)), ("ya16be", (10, 20, 2))]
)
def test_16_bits_are_shown_by_their_upper_8_as_ffmpeg_does(tmp_path, pixels, shape):
    values = np.linspace(0, 65535, int(np.prod(shape))).reshape(shape).astype(np.uint16)
    if pixels == "gray16be":
        Image.fromarray(values).save(tmp_path / "1.png")
    else:
        context = av.CodecContext.create("png", "w")
        context.width, context.height, context.pix_fmt, context.time_base = 20, 10, pixels, Fraction(1, 25)
        frame = av.VideoFrame(20, 10, pixels)
        rows = values.astype(">u2").reshape(10, -1).view(np.uint8)
        rows = np.pad(rows, ((0, 0), (0, frame.planes[0].line_size - rows.shape[1])))
        frame.planes[0].update(rows.tobytes())
        (tmp_path / "1.png").write_bytes(b"".join(map(bytes, context.encode(frame))))
    (frame,) = decode_images(tmp_path, [0])
    if pixels == "gray16be":
        assert np.array_equal(frame, np.repeat((values >> 8).astype(np.uint8)[..., None], 3, axis=2))
    with av.open(str(tmp_path / "1.png")) as container:
        (shown,) = container.decode(video=0)
    assert np.abs(shown.to_ndarray(format="rgb24").astype(int) - frame).max() <= 1


SERIES = {
    "flow": ["img_00001", "img_00002", "flow_x_00001", "flow_x_00002", "flow_y_00001", "flow_y_00002"],
    "depth": ["0001", "0002", "0001_depth", "0002_depth"],
    "cameras": ["cam1_0001", "cam1_0002", "cam2_0001", "cam2_0002"],
}


@pytest.mark.parametrize("names", SERIES)
def test_several_series_of_pictures_are_no_video_and_named(tmp_path, names):
    for name in SERIES[names]:
        Image.new("RGB", (20, 10)).save(tmp_path / f"{name}.jpg")
    with pytest.raises(DecodeError, match="series") as error:
        image_table(tmp_path, 25)
    assert {"flow": "flow_x_#", "depth": "#_depth", "cameras": "cam2_#"}[names] in str(error.value)


ONE = {
    "plain": ([f"{i}" for i in range(8, 13)], ""),
    "every fifth": ([f"frame{5 * i:04d}" for i in range(9)], ""),
    "clock": ([f"2024-01-01_12-{i // 3:02d}-{20 * (i % 3):02d}" for i in range(9)], ""),
    "video and frame": ([f"video7_{i:04d}" for i in range(9)], ""),
    "missing": ([f"{i:03d}" for i in range(30) if i not in (4, 5, 6)], "between 003 and 007"),
    "twice": ([f"f{i}" for i in range(40) if i not in (9, 20)], "between f8 and f10 and 1 more gap"),
}


@pytest.mark.parametrize("names", ONE)
def test_one_series_is_a_video_whose_missing_numbers_are_said(tmp_path, names):
    stems, said = ONE[names]
    for name in stems:
        Image.new("RGB", (20, 10)).save(tmp_path / f"{name}.jpg")
    table = image_table(tmp_path, 25)
    assert table.count == len(stems)
    assert (said in table.gap) and bool(said) == bool(table.gap)


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


@pytest.mark.parametrize(
    "twins",
    [("00002.jpg", "00002.png"), ("00002.JPG", "00002.jpg"), ("a2.jpeg", "A2.jpg"), ("Frame 7.PNG", "frame 7.jpeg")],
)
def test_two_pictures_of_one_name_are_refused_whatever_their_endings_and_case(twins, tmp_path):
    for name in ("00001.jpg", *twins):
        Image.new("RGB", (20, 10)).save(tmp_path / name)
    first, second = sorted(twins)
    with pytest.raises(DecodeError, match=re.escape(f"{first} and {second} are one frame by their names")):
        image_table(tmp_path, 25)


NAMES = {
    "padded": lambda i: f"frame_{i:010d}.jpg",
    "not padded": lambda i: f"{i}.jpg",
    "endings": lambda i: f"{i:03d}.{'jpg' if i % 2 else 'PNG'}",
    "no ASCII": lambda i: f"é走{i}.jpeg",
    "equal": lambda i: f"{i:02d}{i:02d}.jpg",
}


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("count", [1, 2, 12, 101])
def test_every_name_of_a_folder_is_kept_as_it_is(names, count, tmp_path, monkeypatch):
    monkeypatch.setattr(images_module, "_read", lambda path: np.zeros((4, 4, 3), np.uint8))
    listed = [NAMES[names](i) for i in range(1, count + 1)]
    for name in listed:
        (tmp_path / name).touch()
    folder = images_module._listed(tmp_path)
    assert [folder.file(number).name for number in range(count)] == listed


def test_names_of_many_large_folders_take_little_memory_and_the_last_ones_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(images_module, "_read", lambda path: np.zeros((4, 4, 3), np.uint8))
    names = [f"frame_{i:010d}.jpg" for i in range(1, 28_601)]
    monkeypatch.setattr("os.listdir", lambda folder: names)
    folder = images_module._listed(tmp_path)
    assert 700 * folder.middles.nbytes < 2**28
    kept = images_module._KeptFolders(3 * folder.middles.nbytes)
    for number in range(5):
        kept.read(tmp_path / str(number))
    assert [path.name for path in kept.folders] == ["2", "3", "4"]
    assert kept.bytes == 3 * folder.middles.nbytes


def test_a_clip_of_a_large_folder_is_as_quick_as_one_of_a_small_one(tmp_path):
    seconds = {}
    Image.new("RGB", (20, 10)).save(tmp_path / "one.jpg")
    for count in (300, 10_000):
        folder = tmp_path / str(count)
        folder.mkdir()
        for number in range(count):
            (folder / f"{number:05d}.jpg").hardlink_to(tmp_path / "one.jpg")
        times = []
        for _ in range(30):
            start = time.process_time()
            image_table(folder, 25)
            decode_images(folder, [*range(0, 80, 10)])
            times.append(time.process_time() - start)
        seconds[count] = sorted(times)[5]  # the first one lists the folder
    assert seconds[10_000] < 2.5 * seconds[300]
