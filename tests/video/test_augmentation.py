"""Test what a loader's worker does with the frames of a clip."""

import random

import numpy as np
import pytest
import torch
from torchvision.transforms.v2 import functional as F

from lit_video.datamodules.base import VideoDataModule
from lit_video.video.augmentation import (
    Augmentation,
    EvaluationViews,
    ReleasedViews,
    TrainingView,
    WholeViews,
    change_colours,
)
from lit_video.video.seeding import seeded

PLAIN = dict(policy="none", random_erasing=0, label_smoothing=0)
POLICIES = ["auto", "rand", "timm-v0"]
SIZES = {"wide": (180, 240), "tall": (240, 180), "square": (200, 200)}


def ruler(height, width, num_frames=1):
    """Make frames whose red channel is the row and whose green channel the column: a crop shows where it was cut."""
    rows, columns = np.mgrid[0:height, 0:width]
    picture = np.stack([rows, columns, np.full_like(rows, 77)], axis=-1).astype(np.uint8)
    return np.repeat(picture[None], num_frames, axis=0)


def photo(height, width, num_frames=1, seed=0):
    """Make frames of smooth colours, which differ from frame to frame."""
    coarse = torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (num_frames, 3, 5, 5), dtype=np.uint8))
    return F.resize(coarse, [height, width]).permute(0, 2, 3, 1).numpy()


def place(clip):
    """Return the edges of the crop that a resized ruler shows: top, bottom, left, right, in source pixels."""
    side = clip.shape[-1]
    edges = []
    for line in (clip[0, 0, 0].float().mean(1), clip[0, 0, 1].float().mean(0)):
        # the centres of the first and the last output pixel lie half an output pixel inside the crop; the resize is
        # not quite linear there, so the inner pixels are the ones extended
        step = (line[-3] - line[2]) / (side - 5)
        edges += [float(line[2] - 2.5 * step + 0.5), float(line[-3] + 2.5 * step + 0.5)]
    return edges


@pytest.mark.parametrize(("probability", "low", "high"), [(0.0, 0, 0), (0.3, 210, 390), (1.0, 1000, 1000)])
def test_flip_has_its_probability_and_turns_all_frames(probability, low, high):
    random.seed(0)
    view = TrainingView(Augmentation(flip=probability, **PLAIN), 8)
    flips = 0
    for _ in range(1000):
        columns = view(ruler(40, 50, num_frames=2))[0, :, 1].float()
        falling = columns[..., 0] > columns[..., -1]
        assert falling.all() or not falling.any()
        flips += int(falling.all())
    # 1000 draws with probability 0.3 have a standard deviation of 14.5
    assert low <= flips <= high


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_draws_once_for_the_clip_mixes_no_frames_and_does_something(policy):
    view, plain = (TrainingView(Augmentation((27, 27), policy=name), 24) for name in (policy, "none"))
    video, changed = photo(40, 60, num_frames=5), 0
    for seed in range(60):
        with seeded(seed):
            clip = view(video)
        for i in range(5):
            with seeded(seed):
                alone = view(video[i : i + 1])
            assert torch.equal(clip[:, i : i + 1], alone)
        with seeded(seed):
            changed += int(not torch.equal(clip, plain(video)))
    assert changed > 30


@pytest.mark.parametrize("name", SIZES)
def test_whole_views_show_all_of_a_frame(name):
    height, width = SIZES[name]
    assert place(WholeViews(1, 32)(ruler(height, width))) == pytest.approx((0, height, 0, width), abs=2)
    with pytest.raises(ValueError, match="test_crops is 3"):
        WholeViews(3, 32)


def test_whole_in_training_alone_or_in_test_alone_is_refused():
    for crop, views in (("whole", "even"), ("scale", "whole")):
        with pytest.raises(ValueError, match="use whole for both or neither"):
            VideoDataModule(augmentation=Augmentation(crop=crop), views=views, test_crops=1)


@pytest.mark.parametrize(
    "wrong", [dict(short_side=(0, 300)), dict(short_side=(320, 256)), dict(flip=1.5), dict(mixup=-1)]
)
def test_impossible_augmentation_is_refused_by_name(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"^{name} is "):
        Augmentation(**wrong)


def test_a_short_side_below_the_clips_is_refused_in_training_and_in_test():
    with pytest.raises(ValueError, match=r"short_side begins at 256, below the clip's 448 pixels"):
        VideoDataModule(image_size=448, augmentation=Augmentation((256, 320)))
    with pytest.raises(ValueError, match=r"short_side is 256, below the clip's 448 pixels"):
        VideoDataModule(image_size=448, short_side=256)


@pytest.mark.parametrize("view", [EvaluationViews, ReleasedViews])
@pytest.mark.parametrize(("size", "corners"), [((180, 240), [(10, 0), (10, 40), (10, 80)]), ((240, 180), [(0, 10)])])
def test_test_crops_out_of_a_larger_short_side_are_central_across_the_longer_one(view, size, corners):
    crops = len(corners)
    boxes = view(3, 32, 36).boxes(*size)[:crops]
    assert boxes == [pytest.approx((*corner, 160, 160), abs=3) for corner in corners]
    places = [place(one[None]) for one in view(3, 32, 36)(ruler(*size))[:crops]]
    expected = [(top, top + 160, left, left + 160) for top, left in corners]
    assert places == [pytest.approx(edges, abs=4) for edges in expected]


def test_colours_change_alike_in_all_frames_and_grey_clips_have_none():
    video = torch.from_numpy(photo(12, 16, num_frames=1)).permute(0, 3, 1, 2).expand(3, -1, -1, -1)
    with seeded("colours"):
        clips = [change_colours(video) for _ in range(300)]
    assert all(torch.equal(clip, clip[:1].expand_as(clip)) for clip in clips)
    brightness = np.array([clip.float().mean().item() for clip in clips]) - video.float().mean().item()
    assert -40 < brightness.min() < -20 and 20 < brightness.max() < 40  # 32 at most, and clipping
    grey = TrainingView(Augmentation((32, 32), grey=1.0, **PLAIN), 32)(photo(32, 40))
    assert torch.equal(grey[0, :, 0], grey[0, :, 2])


def test_a_stretched_crop_draws_height_and_width_each_and_an_inverse_draw_is_even_in_the_box():
    def boxes(**options):
        view = TrainingView(Augmentation((256, 320), **PLAIN, **options), 224)
        with seeded("boxes"):
            return np.array([view.box(1000, 1400)[2:] for _ in range(2000)])

    aspect = np.divide(*boxes(crop="stretch").T)
    assert aspect.min() == pytest.approx(256 / 320, abs=0.01) and aspect.max() == pytest.approx(320 / 256, abs=0.015)
    assert (boxes()[:, 0] == boxes()[:, 1]).all()
    # means of 224 / u: the logarithm's for an even side, the middle for an even reciprocal
    assert boxes().mean() / 1000 == pytest.approx(224 / 64 * np.log(320 / 256), abs=0.003)
    assert boxes(inverse=True).mean() / 1000 == pytest.approx((224 / 256 + 224 / 320) / 2, abs=0.003)
