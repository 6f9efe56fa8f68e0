"""The predicted peak of a training step against the allocations of a real one, of every family."""

from functools import cache, partial

import pytest
import torch
import torch.nn.functional as F
from lightning import Trainer

from lit_video.benchmark.timing import allocated_peak
from lit_video.costs.peak import MOST, longest_clip, training_peak
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization, make_optimizer
from lit_video.network.block import checkpoint_layers
from lit_video.network.convnets import convnet
from lit_video.network.vit import ViTSize
from tests.network.test_networks_run import CLASSES, build

CPU = torch.device("cpu")
SHAPE = (4, 3, 4, 32, 32)
SIZE = ViTSize(64, 4, 4)
FAMILIES = ["xvit", "xvit_exact", "timesformer_divided", "timesformer_axial", "vivit_1", "vivit_2", "perceiver"]


def network_of(name, part="none"):
    if name == "slowfast":
        return convnet(name, CLASSES, width=8).train()
    network = build(name, SHAPE[2], SHAPE[3:], size=SIZE).train()
    checkpoint_layers(network, part)
    return network


def steps(make, optimization, bfloat16):
    """Three training steps, in Lightning's order."""
    network = make()
    clip, target = torch.randn(SHAPE), torch.rand(SHAPE[0], CLASSES)
    optimizer = make_optimizer(optimization, network)
    for _ in range(3):
        with torch.autocast("cpu", torch.bfloat16, bfloat16):
            loss = F.cross_entropy(network(clip), target, reduction="sum") / len(clip)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize(
    ("part", "optimizer", "states", "bfloat16"),
    [
        ("none", "adamw", 2, False),
        *((part, "sgd", 1, True) for part in ("none", "attention", "block")),  # with copies of the weights
        *(pytest.param(part, "adamw", 2, False, marks=pytest.mark.slow) for part in ("attention", "block")),
    ],
)
@pytest.mark.parametrize("name", FAMILIES)
def test_the_predicted_peak_is_within_a_tenth_of_the_measured_one(name, part, optimizer, states, bfloat16):
    optimization = Optimization(optimizer=optimizer)
    most = allocated_peak(lambda: steps(lambda: network_of(name, part), optimization, bfloat16), CPU)
    predicted = training_peak(network_of(name, part), SHAPE, optimization, bfloat16)
    assert predicted.total == pytest.approx(most, rel=0.1), predicted
    assert predicted.optimizer == pytest.approx(states * predicted.weights, rel=0.01)


def test_so_it_is_with_muon():
    optimization = Optimization(optimizer="muon")
    most = allocated_peak(lambda: steps(lambda: network_of("xvit"), optimization, bfloat16=False), CPU)
    predicted = training_peak(network_of("xvit"), SHAPE, optimization, bfloat16=False)
    assert predicted.total == pytest.approx(most, rel=0.1)
    assert predicted.weights < predicted.optimizer < 1.1 * predicted.weights, "of what is no matrix two states"


def test_so_it_is_of_a_cnn():
    most = allocated_peak(lambda: steps(lambda: network_of("slowfast"), Optimization(), bfloat16=False), CPU)
    predicted = training_peak(network_of("slowfast"), SHAPE, Optimization(), bfloat16=False)
    assert predicted.total == pytest.approx(most, rel=0.1)


class Batches(torch.utils.data.Dataset):
    """Batches as the data modules give them."""

    def __len__(self):
        return 3

    def __getitem__(self, i):
        clip, target = torch.randn(SHAPE), F.one_hot(torch.arange(SHAPE[0]), CLASSES).float()
        return {"clip": clip, "target": target, "video": torch.arange(SHAPE[0])}


def test_so_it_is_in_a_trainers_training(tmp_path):
    def model(part="attention"):
        torch.manual_seed(0)
        return XViT(CLASSES, 4, 32, SIZE, patch=4, activation_checkpointing=part)

    def fit():
        options = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
        trainer = Trainer(accelerator="cpu", max_epochs=1, default_root_dir=tmp_path, **options)
        trainer.fit(model(), torch.utils.data.DataLoader(Batches(), batch_size=None))

    predicted = training_peak(model().network, SHAPE, Optimization(), bfloat16=False)
    assert predicted.total == pytest.approx(allocated_peak(fit, CPU), rel=0.1)


@pytest.mark.parametrize("first", [8, 12, 96])
@pytest.mark.parametrize(
    "peak",
    [lambda t: 1000 + 50 * t, lambda t: 1000 + t * t, lambda t: max(9000 + t, 80 * t), lambda t: 500],
    ids=["line", "square", "corner", "flat"],
)
def test_the_longest_clip_is_the_last_that_fits(peak, first):
    for memory in (100, 5_000, 9_100, 30_000, 123_456):
        expected = max((t for t in range(8, MOST + 1, 8) if peak(t) <= memory), default=0)
        assert longest_clip(peak, memory, first) == expected


def test_longest_clips_of_a_network():
    """As many frames as a search one by one finds, and more of them with activation checkpointing."""
    network, fits = build("timesformer_divided", 4, (32, 32), size=ViTSize(64, 3, 2)).train(), {}

    @cache
    def peak(frames, part):
        checkpoint_layers(network, part)
        return training_peak(network, (1, 3, frames, 32, 32), Optimization(), bfloat16=False).total

    for part in ("none", "attention", "block"):
        fits[part] = longest_clip(partial(peak, part=part), 20e6, 8)
        assert peak(fits[part], part=part) <= 20e6 < peak(fits[part] + 8, part=part)
    assert fits["none"] < fits["attention"] < fits["block"]
