"""Test that frame numbers and crops are those of X-ViT's release, index by index."""

import json
from collections import Counter
from pathlib import Path

import pytest
import torch

from lit_video.datamodules import ReleasedDense, ReleasedSegments, VideoFolder
from lit_video.video.augmentation import ReleasedViews
from lit_video.video.crops import multiscale_boxes, short_side_size, uniform_crop
from lit_video.video.seeding import seeded
from tests.video.test_sampling import untimed as video

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "xvit_sampling_crops_lr.json").read_text())


def test_segments_of_validation_and_test():
    for case in VECTORS["ssv2_segment"]:
        length, frames, clip = case["video_length"], case["num_frames"], case["clip"] or 0
        assert ReleasedSegments().numbers(video(length), frames, clip, clips=3) == case["index"], case
        if clip == 0:  # validation takes one clip
            assert ReleasedSegments().numbers(video(length), frames, 0, clips=1) == case["index"], case


def test_segments_of_training_have_the_releases_ranges_and_every_frame_in_them_alike():
    for case in VECTORS["ssv2_segment_train_ranges"]:
        length, frames = case["video_length"], case["num_frames"]
        ranges = list(zip(case["low"], case["high"], strict=True))
        with seeded("ranges", length, frames):
            drawn = [ReleasedSegments().numbers(video(length), frames) for _ in range(1500)]
        for i, (low, high) in enumerate(ranges):
            counts = Counter(numbers[i] for numbers in drawn)
            assert set(counts) == set(range(low, high + 1))
            expected = 1500 / (high - low + 1)
            # five standard deviations of a binomial count
            assert all(abs(n - expected) <= 5 * expected**0.5 for n in counts.values())


def test_more_than_three_segment_clips_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^test_clips is 4, ReleasedSegments has 3 at most"):
        VideoFolder(root=str(tmp_path), sampling=ReleasedSegments(), test_clips=4)


def test_dense_test_clips():
    for case in VECTORS["kinetics_dense_test"]:
        length, frames, stride = case["video_length"], case["num_frames"], case["sampling_rate"]
        clip, clips, fps = case["clip"], case["num_clips"], case["fps"]
        sampling = ReleasedDense(stride, fps=30 if fps else None)
        assert sampling.numbers(video(length, fps or 25.0), frames, clip, clips=clips) == case["index"], case


def test_random_dense_clips_are_windows_that_start_anywhere():
    with seeded("windows"):
        drawn = [ReleasedDense(8).numbers(video(150), 8) for _ in range(2000)]
    # a window of 64 starts from 0 to 86, and ends 63 later; 400 of 2000 in a fifth, standard deviation 17.9
    assert {numbers[-1] - numbers[0] for numbers in drawn} == {63}
    fifths = Counter(5 * numbers[0] // 87 for numbers in drawn)
    assert fifths.keys() == set(range(5)) and all(310 < count < 490 for count in fifths.values())


@pytest.mark.parametrize(
    "case", VECTORS["kinetics_train_multiscale_crops"], ids=lambda c: f"{c['width']}x{c['height']}"
)
def test_multiscale_crops(case):
    boxes = multiscale_boxes(case["height"], case["width"])
    assert len(boxes) == 130
    assert len(set(boxes)) == case["n_distinct"]
    assert sorted({(box.width, box.height) for box in boxes}) == sorted(map(tuple, case["crop_sizes"]))
    places = {}
    for box in boxes:
        places.setdefault(f"{box.width}x{box.height}", set()).add((box.left, box.top))
    assert places == {name: {tuple(place) for place in expected} for name, expected in case["offsets"].items()}


def test_test_crops_lie_where_the_releases_do():
    for case in VECTORS["uniform_crop"]:
        place = uniform_crop(case["height"], case["width"], case["size"], spatial=case["spatial"])
        assert place == (case["y"], case["x"]), case


@pytest.mark.parametrize("size", [(60, 80), (80, 60), (61, 83), (60, 60)])
def test_released_views_resize_first_and_then_crop_whole_pixels(size):
    noise = torch.randint(0, 256, (2, *size, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    frames, clip = noise.numpy(), noise.permute(0, 3, 1, 2).float()
    height, width = short_side_size(*size, 24)
    whole = torch.nn.functional.interpolate(clip, (height, width), mode="bilinear", antialias=True)
    views = ReleasedViews(3, 24)(frames)
    assert views.shape == (3, 2, 3, 24, 24)
    for spatial in range(3):
        top, left = uniform_crop(height, width, 24, spatial=spatial)
        assert (views[spatial].float() - whole[..., top : top + 24, left : left + 24]).abs().max() <= 1.01
    assert torch.equal(ReleasedViews(1, 24)(frames)[0], views[1])
