"""Test that a sample is a function of (seed, epoch, index), for any number of workers and after a restart."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from lit_video.datamodules import VideoFolder, recipe
from lit_video.video.augmentation import Augmentation, EvaluationViews
from lit_video.video.batch import draw, evaluation_batch, training_batch
from lit_video.video.clips import ClipDataset
from lit_video.video.sampling import Dense, DenseStride, ReleasedDense, ReleasedSegments, Segments, WholeVideo
from tests.conftest import quick_or_slow
from tests.embedded import four_skills

PAIRS = (4, 2, 2)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("determinism")
    shapes(root).prepare_data()
    return root


CLIPS = dict(num_frames=4, image_size=16, batch_size=4, num_workers=0)
RAND = Augmentation(policy="rand", random_erasing=0.5, mixup=0.4, label_smoothing=0.1)


def shapes(root, **changes):
    return four_skills(root, **dict(pairs=PAIRS, sampling=Dense(0.5), augmentation=RAND) | CLIPS | changes)


def epochs(data, numbers=(0, 1)):
    """Return the training batches of some epochs as the model gets them, from one loader as in Lightning."""
    loader = data.train_dataloader()
    batches = []
    for number in numbers:
        loader.sampler.set_epoch(number)
        batches.append([_train(data, raw) for raw in loader])
    return batches


def _train(data, raw):
    draws = draw(raw["key"], raw["clip"].shape[-2:], data.augmentation, seed=data.seed)
    return training_batch(
        raw,
        data.mean,
        data.std,
        classes=data.num_classes,
        smoothing=data.augmentation.label_smoothing,
        draws=draws,
    )


def same(one, other):
    return len(one) == len(other) and all(
        torch.equal(a[name], b[name]) for a, b in zip(one, other, strict=True) for name in a
    )


OTHERS = {
    "rand": (RAND, Dense(0.5)),
    "released": ("xvit-released-k400", ReleasedDense(2)),
    "everything": (
        Augmentation(flip=0.5, policy="timm-v0", mixup=0.4, cutmix=1.0, crop="multiscale"),
        ReleasedSegments(),
    ),
    "vivit": (replace(recipe("vivit-ssv2"), short_side=(18, 24), colour=0.5, grey=0.2), Segments()),
    "dense": (replace(recipe("xvit-paper-k400"), short_side=(16, 24)), DenseStride(2)),
    "long": (replace(recipe("timesformer"), short_side=(18, 23), inverse=True), WholeVideo(0.5)),
}


def folder_of_shapes(root, name, **changes):
    augmentation, sampling = OTHERS[name]
    settings = dict(augmentation=augmentation, sampling=sampling) | CLIPS
    return VideoFolder(root=str(shapes(root).root), **(settings | changes))


@pytest.mark.parametrize("name", quick_or_slow(OTHERS, {"everything"}))
def test_no_recipe_and_no_sampling_depends_on_workers_or_restarts(root, name):
    expected = epochs(folder_of_shapes(root, name))
    assert not same(expected[0], expected[1])
    torch.manual_seed(1234)  # no draw depends on this seed, and no epoch on earlier ones
    assert same(epochs(folder_of_shapes(root, name), (1,))[0], expected[1])
    batches = epochs(folder_of_shapes(root, name, num_workers=2))
    assert same(batches[0], expected[0])
    assert same(batches[1], expected[1])
    data = folder_of_shapes(root, name, num_workers=2)
    data.load_state_dict({"epoch": 0, "seen": 5 * 4, "broken": {}})
    resumed = epochs(data)
    assert same(resumed[0], expected[0][5:])
    assert same(resumed[1], expected[1])


@pytest.mark.parametrize("training", [True, False])
def test_only_training_batches_are_augmented_on_the_device(root, training):
    data = shapes(root)
    raw = next(iter(data.train_dataloader()))
    data.trainer = SimpleNamespace(training=training)
    expected = _train(data, raw) if training else evaluation_batch(raw, data.mean, data.std)
    raw = data.on_before_batch_transfer(raw, 0)
    assert same([data.on_after_batch_transfer(raw, 0)], [expected])
    assert data.on_after_batch_transfer(raw, 0)["target"].ndim == (2 if training else 1)
    blue_first = shapes(root, channels="bgr")
    blue_first.trainer = data.trainer
    actual = blue_first.on_after_batch_transfer(raw, 0)["clip"]
    assert training or torch.equal(actual, expected["clip"].flip(1))
    assert not torch.equal(actual, expected["clip"])


def evaluated(loader):
    return [evaluation_batch(raw, 0.5, 0.5) for raw in loader]


@pytest.mark.parametrize("workers", [0, 2])
def test_test_loader_covers_every_view_of_every_video_once_and_draws_nothing(root, workers):
    data = shapes(root, test_clips=3, test_crops=2, num_workers=workers, seed=workers)
    loader = data.test_dataloader()
    first = evaluated(loader)
    loader.sampler.set_epoch(5)
    assert same(evaluated(loader), first)
    # seed and workers change nothing: both parameters of this test are compared with one reference
    assert same(first, evaluated(shapes(root, test_clips=3, test_crops=2).test_dataloader()))
    views = [pair for batch in first for pair in zip(batch["video"].tolist(), batch["view"].tolist(), strict=True)]
    assert sorted(views) == [(video, view) for video in range(4 * 2 * PAIRS[2]) for view in range(6)]
    labels = {int(v): int(t) for batch in first for v, t in zip(batch["video"], batch["target"], strict=True)}
    assert [labels[i] for i in range(len(labels))] == [record.label for record in data.records("test")]


def test_validation_takes_the_centre_clip_and_crop_of_every_video(root):
    data = shapes(root, test_clips=3, test_crops=3, batch_size=5)
    batches = evaluated(data.val_dataloader())
    assert torch.cat([batch["video"] for batch in batches]).tolist() == list(range(4 * 2 * PAIRS[1]))
    assert {int(view) for batch in batches for view in batch["view"]} == {0}
    # the middle clip of three, the middle crop of three
    clips = ClipDataset(data.records("val"), data.sampling, 4, view=EvaluationViews(3, 16), seed=0, clips=3)
    views = clips[(0, 1)]["clip"]
    centre = (views[1].transpose(0, 1).float() / 255 - 0.5) / 0.5
    assert torch.allclose(batches[0]["clip"][0], centre, atol=1e-5)
