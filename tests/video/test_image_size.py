"""Test clips that are not square: crops of every kind keep proportions."""

import random

import numpy as np
import pytest
import torch

from lit_video.datamodules import VideoFolder
from lit_video.utils.clip_shape import height_and_width, size_in_words
from lit_video.video.augmentation import Augmentation, EvaluationViews, TrainingView, WholeViews
from lit_video.video.crops import even_boxes, largest, multiscale_boxes, random_box

SHAPES = [(60, 80), (24, 32), (32, 24), (7, 5)]
FRAMES = [(60, 80), (256, 340), (340, 256), (100, 100), (45, 300)]


def test_a_size_is_a_side_or_height_and_width():
    assert height_and_width(224) == (224, 224)
    assert height_and_width([60, 80]) == (60, 80)
    assert size_in_words((60, 80)) == "60 x 80"
    for wrong in (0, (60, 0), (1, 2, 3)):
        with pytest.raises(ValueError, match="image_size is"):
            height_and_width(wrong)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("height", "width"), FRAMES)
def test_boxes_have_the_clip_s_shape_and_lie_in_the_frame(height, width, shape):
    down, right = largest(height, width, shape)
    assert down / right == pytest.approx(shape[0] / shape[1])
    assert down == height or right == width, "no larger one is inside"
    random.seed(0)
    boxes = [random_box(height, width, (share, share), shape=shape) for share in (0.7, 0.9, 1.0)]
    boxes += even_boxes(height, width, 3, shape=shape)
    for box in boxes:
        assert box.height / shape[0] == pytest.approx(box.width / shape[1], abs=0.5 / shape[0] + 0.5 / shape[1])
    for box in [*boxes, *multiscale_boxes(height, width, shape)]:
        assert min(box.top, box.left) >= 0 < min(box.height, box.width)
        assert box.top + box.height <= height and box.left + box.width <= width
    first, _, last = even_boxes(height, width, 3, shape=shape)
    assert (first.top, first.left) == (0, 0)
    assert (last.top + last.height, last.left + last.width) == (height, width)


def test_a_whole_frame_of_the_clip_s_size_comes_out_as_it_was():
    frames = np.random.default_rng(0).integers(0, 255, (2, 60, 80, 3), np.uint8)
    expected = torch.from_numpy(frames).permute(0, 3, 1, 2)
    for views in (EvaluationViews(1, (60, 80)), WholeViews(1, (60, 80))):
        assert torch.equal(views(frames)[0], expected)
    view = TrainingView(Augmentation(crop="whole", policy="none", short_side=(60, 60)), (60, 80))
    assert torch.equal(view(frames)[0], expected)


def test_released_views_are_squares(tmp_path):
    with pytest.raises(ValueError, match=r"views is released, .* image_size is \[24, 32\]: use even"):
        VideoFolder(str(tmp_path), image_size=(24, 32), views="released")


def scaled_then_cropped(num_frames, size, short_side):
    """Return the centre of frames whose short side is ``short_side``, ``size`` pixels large: the reference."""
    assert min(num_frames.shape[1:3]) == short_side
    top, left = (num_frames.shape[1] - size[0]) // 2, (num_frames.shape[2] - size[1]) // 2
    return torch.from_numpy(num_frames[:, top : top + size[0], left : left + size[1]]).permute(0, 3, 1, 2)


@pytest.mark.parametrize(
    ("frame", "size"),
    [((32, 48), (16, 48)), ((48, 32), (48, 16)), ((32, 48), (32, 16)), ((32, 64), (8, 40)), ((32, 48), (16, 16))],
)
def test_a_short_side_scales_the_frame_whatever_the_clip_s_shape(frame, size):
    frames = np.random.default_rng(0).integers(0, 255, (2, *frame, 3), np.uint8)
    expected = scaled_then_cropped(frames, size, 32)
    assert torch.equal(EvaluationViews(1, size, 32)(frames)[0], expected)
    for crop in ("scale", "stretch"):
        view = TrainingView(Augmentation(crop=crop, policy="none", short_side=(32, 32)), size)
        box = view.box(*frame)
        assert (box.height, box.width) == size
        random.seed(3)
        box = view.box(*frame)
        random.seed(3)
        found = view(frames)[0]
        cut = frames[:, box.top : box.top + size[0], box.left : box.left + size[1]]
        assert torch.equal(found, torch.from_numpy(cut).permute(0, 3, 1, 2))


@pytest.mark.parametrize(("frame", "size", "side"), [((64, 96), (16, 48), 32), ((40, 40), (16, 48), 32)])
def test_a_box_is_the_clip_in_the_pixels_of_the_frame_or_the_largest_that_fits(frame, size, side):
    (box,) = EvaluationViews(1, size, side).boxes(*frame)
    scale = min(frame) / side
    fits = size[0] * scale <= frame[0] and size[1] * scale <= frame[1]
    expected = [length * scale for length in size] if fits else largest(*frame, size)
    assert (box.height, box.width) == tuple(map(round, expected))
