"""What happens to a batch on its device."""

import random

import numpy as np
import pytest
import torch

from lit_video.utils.classes import smooth
from lit_video.video.augmentation import Augmentation
from lit_video.video.batch import (
    BatchDraws,
    Mixture,
    draw,
    erase,
    evaluation_batch,
    mix,
    normalise,
    training_batch,
)
from lit_video.video.crops import Box


def raw_batch(items=4, views=1, frames=3, side=8, classes=5, first_view=None, epoch=0):
    random = np.random.default_rng(items + views)
    return dict(
        clip=torch.from_numpy(random.integers(0, 256, (items, views, frames, 3, side, side), dtype=np.uint8)),
        label=torch.arange(items) % classes,
        video=torch.arange(items) + 100,
        first_view=torch.tensor(first_view or [0] * items),
        broken=[""] * items,
        key=torch.tensor([[epoch, i] for i in range(items)]),
    )


def drawn(count, size, epoch=0, **augmentation):
    """The draws for a batch of so many clips; nothing happens that is not asked for."""
    keys = torch.tensor([[epoch, i] for i in range(count)])
    return draw(keys, size, Augmentation(**(dict(erasing=0.0, smoothing=0.0) | augmentation)), seed=0)


def erased_of(clip, probability):
    return erase(clip, drawn(len(clip), clip.shape[-2:], erasing=probability).boxes)


def train_with(raw, augmentation, seed=0, channels="rgb"):
    draws = draw(raw["key"], raw["clip"].shape[-2:], augmentation, seed)
    return training_batch(raw, 0.5, 0.5, 5, augmentation.smoothing, draws, channels)


# evaluation


IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@pytest.mark.parametrize(("mean", "std"), [(0.5, 0.5), (0.45, 0.225), (0.0, 1.0), IMAGENET])
def test_normalise_is_its_formula_with_time_behind_channels(mean, std):
    clip = raw_batch(items=2, views=3)["clip"]
    actual = normalise(clip, mean, std)
    assert actual.shape == (6, 3, 3, 8, 8)
    assert actual.dtype == torch.float32
    for b in range(2):
        for view in range(3):
            for frame in range(3):
                m, s = (torch.tensor(x, dtype=torch.float64).expand(3).view(3, 1, 1) for x in (mean, std))
                expected = (clip[b, view, frame].double() / 255 - m) / s
                assert torch.allclose(actual[b * 3 + view, :, frame].double(), expected, atol=1e-5)


@pytest.mark.parametrize("pixels", [(0.45, 0.225), IMAGENET])
def test_blue_comes_first_where_it_is_asked_for(pixels):
    raw = raw_batch(items=2, views=2)
    red_first, before = normalise(raw["clip"], *pixels), raw["clip"].clone()
    blue_first = normalise(raw["clip"], *pixels, "bgr")
    assert torch.equal(blue_first, red_first[:, [2, 1, 0]])
    assert not torch.equal(blue_first, red_first)
    assert torch.equal(raw["clip"], before)
    assert torch.equal(evaluation_batch(raw, *pixels, "bgr")["clip"], blue_first)
    trained = training_batch(raw, *pixels, 5, 0.0, BatchDraws(None, None), "bgr")["clip"]
    assert torch.equal(trained, blue_first)


def test_every_view_of_an_evaluation_batch_becomes_a_clip():
    # two videos of three clips with two crops each, as ClipDataset numbers them: clip * crops
    raw = raw_batch(items=6, views=2, first_view=[0, 2, 4, 0, 2, 4])
    raw["video"] = torch.tensor([7, 7, 7, 9, 9, 9])
    raw["label"] = torch.tensor([1, 1, 1, 3, 3, 3])
    batch = evaluation_batch(raw, 0.5, 0.5)
    assert batch["view"].tolist() == [0, 1, 2, 3, 4, 5] * 2
    assert batch["video"].tolist() == [7] * 6 + [9] * 6
    assert batch["target"].tolist() == [1] * 6 + [3] * 6
    assert torch.equal(batch["clip"][3], normalise(raw["clip"][1:2, 1:2], 0.5, 0.5)[0])


# labels


def test_smooth_is_its_formula():
    actual = smooth(torch.tensor([2, 0]), 4, 0.2)
    assert torch.allclose(actual, torch.tensor([[0.05, 0.05, 0.85, 0.05], [0.85, 0.05, 0.05, 0.05]]))


# erasing


def boxes(erased):
    """(clip, top, bottom, left, right) of what was set to 0 in clips of ones, after checking that it is a box."""
    erased_boxes = []
    for i, clip in enumerate(erased):
        gone = clip == 0
        assert (gone | (clip == 1)).all()
        if not gone.any():
            continue
        assert (gone == gone[:1, :1]).all(), "not the same in all frames and channels"
        rows, columns = gone[0, 0].any(1).nonzero()[:, 0], gone[0, 0].any(0).nonzero()[:, 0]
        top, bottom, left, right = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
        assert gone[0, 0, top:bottom, left:right].all()
        assert gone[0, 0].sum() == (bottom - top) * (right - left)
        erased_boxes.append((i, top, bottom, left, right))
    return erased_boxes


@pytest.fixture(scope="module")
def thousand_boxes():
    return boxes(erased_of(torch.ones(2000, 1, 2, 100, 100), 0.5))


def test_half_of_the_clips_are_erased(thousand_boxes):
    # of 2000: standard deviation 22; ten attempts leave next to none unfit
    assert 890 < len(thousand_boxes) < 1110


def test_erased_area_and_aspect_have_the_papers_distribution(thousand_boxes):
    heights = np.array([bottom - top for _, top, bottom, _, _ in thousand_boxes])
    widths = np.array([right - left for _, _, _, left, right in thousand_boxes])
    area, aspect = heights * widths / 100**2, heights / widths
    # sides are whole pixels: a box of 0.02 may be 26 x 8
    assert 0.018 < area.min() < 0.03
    assert 0.32 < area.max() < 0.345
    assert 0.28 < aspect.min() < 0.34
    assert 1 / 0.34 < aspect.max() < 1 / 0.28
    # nearly uniform, but for the large and long boxes that do not fit (a side of at most 100)
    assert np.mean(area) == pytest.approx((0.02 + 1 / 3) / 2, abs=0.015)
    assert np.std(area) == pytest.approx((1 / 3 - 0.02) / 12**0.5, abs=0.01)
    # log-uniform, so as many tall as wide ones
    assert np.mean(np.log(aspect)) == pytest.approx(0, abs=0.12)
    assert np.std(np.log(aspect)) == pytest.approx(2 * np.log(1 / 0.3) / 12**0.5, abs=0.06)


def test_erased_boxes_reach_every_edge(thousand_boxes):
    edges = np.array(thousand_boxes)[:, 1:]
    assert edges.min(0)[[0, 2]].tolist() == [0, 0]
    assert edges.max(0)[[1, 3]].tolist() == [100, 100]
    assert edges.mean(0).reshape(2, 2).mean(1) == pytest.approx([50, 50], abs=3)


def test_all_clips_are_erased_at_once_as_one_by_one():
    clip = torch.randn(40, 3, 2, 20, 28)
    found = drawn(40, (20, 28), erasing=0.6).boxes
    expected = clip.clone()
    for one, (top, left, height, width) in zip(expected, found.tolist(), strict=True):
        one[..., top : top + height, left : left + width] = 0
    assert torch.equal(erase(clip, found), expected)
    assert 0 < sum(map(any, found.tolist())) < 40


# mixup


def test_mixup_mixes_clips_and_labels_with_the_neighbour_by_one_weight():
    clip, target = torch.rand(5, 3, 2, 4, 4), smooth(torch.arange(5), 5, 0.0)
    mixed, labels = mix(clip, target, drawn(5, (4, 4), mixup=0.8).mixture)
    weight = labels[0, 0]
    assert 0 < weight < 1
    for i in range(5):
        assert torch.allclose(labels[i], weight * target[i] + (1 - weight) * target[i - 1])
        assert torch.allclose(mixed[i], weight * clip[i] + (1 - weight) * clip[i - 1], atol=1e-6)


@pytest.mark.parametrize("alpha", [0.2, 0.8, 1.0, 4.0])
def test_mixing_weights_are_beta_distributed(alpha):
    draws = 4000
    shares = [drawn(1, (4, 4), epoch, mixup=alpha).mixture.share for epoch in range(draws)]
    weights = 1 - torch.tensor(shares, dtype=torch.float64)
    variance = 1 / (4 * (2 * alpha + 1))
    assert weights.mean() == pytest.approx(0.5, abs=5 * (variance / draws) ** 0.5)
    assert weights.var() == pytest.approx(variance, rel=0.1)
    assert ((weights >= 0) & (weights <= 1)).all()


def test_the_draws_are_those_that_stored_results_were_made_with():
    """Numbers of the code at commit 9a71a83, which drew while it erased and mixed."""
    one, other = (drawn(3, (64, 48), epoch, erasing=0.5, mixup=0.4, cutmix=1.0) for epoch in (0, 2))
    assert one.boxes.tolist() == [[0, 0, 0, 0], [1, 6, 12, 26], [15, 9, 25, 23]]
    assert one.mixture == Mixture(0.37109375, Box(26, 13, 38, 30))
    assert other.boxes.tolist() == [[41, 16, 22, 18], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert other.mixture.share == pytest.approx(0.6719753810277951, abs=1e-12)
    assert other.mixture.box is None


# the whole


AUGMENTATION = Augmentation(erasing=0.5, mixup=0.8, smoothing=0.1)


def augmented(raw, seed=0, augmentation=AUGMENTATION):
    return train_with(raw, augmentation, seed)


def test_a_training_batch_is_a_function_of_seed_and_keys_alone():
    first = augmented(raw_batch())
    torch.manual_seed(99)
    random.seed(99)
    before = random.getstate(), torch.get_rng_state()
    again = augmented(raw_batch())
    assert random.getstate() == before[0] and torch.equal(torch.get_rng_state(), before[1])
    assert all(torch.equal(first[name], again[name]) for name in first)


@pytest.mark.parametrize(("seed", "epoch"), [(1, 0), (0, 1)])
def test_another_seed_or_epoch_augments_otherwise(seed, epoch):
    first, other = augmented(raw_batch()), augmented(raw_batch(epoch=epoch), seed)
    assert not torch.equal(first["target"], other["target"])
    assert not torch.equal(first["clip"], other["clip"])


def test_mixup_and_erasing_happen_where_they_are_asked_for():
    raw = raw_batch(items=16)
    plain = normalise(raw["clip"], 0.5, 0.5)
    erased = augmented(raw, augmentation=Augmentation(erasing=1.0, mixup=0, smoothing=0))["clip"]
    assert ((erased == 0) & (plain != 0)).flatten(1).any(1).all()
    assert ((erased == plain) | (erased == 0)).all()
    mixed = augmented(raw, augmentation=Augmentation(erasing=0.0, mixup=1.0, smoothing=0))
    weight = mixed["target"][1, 1]
    assert 0 < weight < 1
    assert torch.allclose(mixed["clip"], weight * plain + (1 - weight) * plain.roll(1, 0), atol=1e-5)
