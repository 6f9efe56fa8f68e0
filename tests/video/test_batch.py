"""Test what happens to a batch on its device."""

import numpy as np
import pytest
import torch

from lit_video.video.augmentation import Augmentation
from lit_video.video.batch import (
    BatchDraws,
    Mixture,
    draw,
    erase,
    evaluation_batch,
    normalise,
    training_batch,
)
from lit_video.video.crops import Box


def raw_batch(items=4, views=1, num_frames=3, side=8, classes=5, epoch=0):
    random = np.random.default_rng(items + views)
    return dict(
        clip=torch.from_numpy(random.integers(0, 256, (items, views, num_frames, 3, side, side), dtype=np.uint8)),
        label=torch.arange(items) % classes,
        video=torch.arange(items) + 100,
        first_view=torch.zeros(items, dtype=torch.long),
        broken=[""] * items,
        key=torch.tensor([[epoch, i] for i in range(items)]),
    )


def drawn(count, size, epoch=0, seed=0, **augmentation):
    """Draw for a batch of ``count`` clips, by default without erasing and smoothing."""
    keys = torch.tensor([[epoch, i] for i in range(count)])
    return draw(keys, size, Augmentation(**(dict(random_erasing=0.0, label_smoothing=0.0) | augmentation)), seed=seed)


IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@pytest.mark.parametrize(("mean", "std"), [(0.5, 0.5), (0.45, 0.225), IMAGENET])
def test_normalise_is_its_formula_with_time_behind_channels(mean, std):
    clip = raw_batch(items=2, views=3)["clip"]
    m, s = (torch.tensor(x, dtype=torch.float64).expand(3).view(3, 1, 1) for x in (mean, std))
    expected = ((clip.double() / 255 - m) / s).flatten(0, 1).transpose(1, 2).float()
    torch.testing.assert_close(normalise(clip, mean, std), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("pixels", [(0.45, 0.225), IMAGENET])
def test_blue_comes_first_where_it_is_asked_for(pixels):
    raw = raw_batch(items=2, views=2)
    red_first, before = normalise(raw["clip"], *pixels), raw["clip"].clone()
    blue_first = normalise(raw["clip"], *pixels, channels="bgr")
    assert torch.equal(blue_first, red_first[:, [2, 1, 0]])
    assert not torch.equal(blue_first, red_first)
    assert torch.equal(raw["clip"], before)
    assert torch.equal(evaluation_batch(raw, *pixels, channels="bgr")["clip"], blue_first)
    draws = BatchDraws(None, None)
    trained = training_batch(raw, *pixels, classes=5, smoothing=0.0, draws=draws, channels="bgr")
    assert torch.equal(trained["clip"], blue_first)


def test_erased_boxes_have_the_papers_distribution():
    top, left, height, width = (x for x in drawn(2000, (100, 100), random_erasing=0.5).boxes.double().T.numpy())
    some = height > 0
    assert 890 < some.sum() < 1110  # standard deviation 22
    top, left, height, width = (x[some] for x in (top, left, height, width))
    assert (min(top), min(left), max(top + height), max(left + width)) == (0, 0, 100, 100)
    area, aspect = height * width / 100**2, height / width
    # sides are whole pixels: a box of 0.02 may be 26 x 8
    assert 0.018 < area.min() < 0.03 and 0.32 < area.max() < 0.345
    assert 0.28 < aspect.min() < 0.34 and 1 / 0.34 < aspect.max() < 1 / 0.28
    # nearly uniform, except for large and long boxes that do not fit; tall and wide boxes are equally frequent
    assert area.mean() == pytest.approx((0.02 + 1 / 3) / 2, abs=0.015)
    assert np.log(aspect).mean() == pytest.approx(0, abs=0.12)
    assert np.log(aspect).std() == pytest.approx(2 * np.log(1 / 0.3) / 12**0.5, abs=0.06)


def test_all_clips_are_erased_at_once_as_one_by_one():
    clip = torch.randn(40, 3, 2, 20, 28)
    found = drawn(40, (20, 28), random_erasing=0.6).boxes
    expected = clip.clone()
    for one, (top, left, height, width) in zip(expected, found.tolist(), strict=True):
        one[..., top : top + height, left : left + width] = 0
    assert torch.equal(erase(clip, found), expected)
    assert 0 < sum(map(any, found.tolist())) < 40


def test_the_draws_are_those_that_stored_results_were_made_with():
    """Compare with the code at commit 9a71a83, which drew while it erased and mixed."""
    some = dict(random_erasing=0.5, mixup=0.4, cutmix=1.0)
    one, other = (drawn(3, (64, 48), epoch, **some) for epoch in (0, 2))
    assert one.boxes.tolist() == [[0, 0, 0, 0], [1, 6, 12, 26], [15, 9, 25, 23]]
    assert one.mixture == Mixture(0.37109375, Box(26, 13, 38, 30))
    assert other.boxes.tolist() == [[41, 16, 22, 18], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert other.mixture.share == pytest.approx(0.6719753810277951, abs=1e-12)
    assert other.mixture.box is None
    assert drawn(3, (64, 48), seed=1, **some).mixture != one.mixture
