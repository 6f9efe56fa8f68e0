"""Test that the learning rate follows the release's schedule, and that every parameter is in the right group."""

import json
import math
from pathlib import Path

import pytest
import torch
from lightning.pytorch.plugins import MixedPrecision
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from lit_video.errors import UserError
from lit_video.modules import ConvNet, Perceiver, XViT
from lit_video.modules.muon import StackedMuon
from lit_video.modules.optimization import Optimization, make_optimizer, parameter_groups, rate
from lit_video.network.aggregation import linear_head
from lit_video.network.convnets import convnet
from lit_video.network.vit import ViTSize

RELEASED = Path(__file__).parents[1] / "vectors" / "xvit_sampling_crops_lr.json"


def tiny(**options):
    return XViT(num_classes=5, num_frames=4, image_size=16, size=ViTSize(16, 2, 2), patch_size=8, **options)


def test_rates_are_those_of_the_release():
    schedules = json.loads(RELEASED.read_text())["lr"]
    assert len(schedules) == 3
    for name, recipe in schedules.items():
        base, epochs = recipe["base_lr"], recipe["max_epoch"]
        ours = Optimization(
            lr=base, warmup=recipe["warmup_epochs"] / epochs, warmup_start=recipe["warmup_start_lr"] / base
        )
        for epoch, expected in recipe["lr"]:
            assert base * rate(ours, epoch / epochs) == pytest.approx(expected, abs=1e-12)
            if name.startswith("SSv2"):  # the default schedule
                assert rate(Optimization(), epoch / epochs) == pytest.approx(expected / base)


def decayed_by_type(model):
    """Return the ids of the weights of linear and convolutional layers."""
    return {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear | nn.Conv2d)}


def test_a_whole_cosine_begins_at_the_full_rate_after_the_warm_up():
    # Scenic: the warm-up multiplies a cosine over the steps that are left
    recipe = Optimization(warmup=0.25, warmup_start=0.0, whole_cosine=True)
    expected = {0.125: 0.5, 0.25: 1.0, 0.5: (1 + math.cos(math.pi / 3)) / 2, 0.625: 0.5, 1.0: 0.0, 1.5: 0.0}
    assert {step: rate(recipe, step) for step in expected} == pytest.approx(expected)


def test_a_rate_with_a_cooldown_is_constant_until_then_and_falls_to_zero():
    recipe = Optimization(warmup=0.25, warmup_start=0.2, cooldown=0.2)
    expected = {0.0: 0.2, 0.125: 0.6, 0.25: 1.0, 0.8: 1.0, 0.9: 0.5, 1.0: 0.0, 1.5: 0.0}
    assert {step: rate(recipe, step) for step in expected} == pytest.approx(expected)


def test_trainings_of_two_lengths_with_a_cooldown_share_their_beginning():
    """Train 400 or 200 steps, 40 of warm-up: the rates are equal until the shorter one's last fifth."""
    whole = Optimization(warmup=0.1, cooldown=0.2)
    half = Optimization(warmup=0.2, cooldown=0.2)
    of_whole = [rate(whole, step / 400) for step in range(161)]
    assert [rate(half, step / 200) for step in range(161)] == pytest.approx(of_whole)


@pytest.mark.parametrize("options", [{}, dict(ta_layers=0), dict(ta_layers=2, summary=True), dict(positions="none")])
def test_only_weights_decay_and_every_parameter_is_in_one_group(options):
    model = tiny(**options)
    decayed, exempt = parameter_groups(Optimization(weight_decay=0.3), model)
    assert (decayed["weight_decay"], exempt["weight_decay"]) == (0.3, 0)
    assert {id(p) for p in decayed["params"]} == decayed_by_type(model)
    together = [id(p) for group in (decayed, exempt) for p in group["params"]]
    assert sorted(together) == sorted(id(p) for p in model.parameters())


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (torch.optim.SGD, dict(momentum=0.7, nesterov=False)),
        (torch.optim.SGD, dict(momentum=0.7, nesterov=True)),
        (torch.optim.AdamW, dict(betas=(0.8, 0.95))),
    ],
)
def test_an_optimizer_is_made_with_its_settings(kind, settings):
    recipe = Optimization(optimizer=kind.__name__.lower(), lr=0.2, weight_decay=0.3, **settings)
    optimizer = make_optimizer(recipe, tiny())
    assert type(optimizer) is kind
    for group in optimizer.param_groups:
        assert {key: group[key] for key in ("lr", *settings)} == {"lr": 0.2} | settings


def test_muon_takes_the_weights_and_leaves_the_rest_to_adamw():
    model = tiny()
    optimizer = make_optimizer(Optimization(optimizer="muon", lr=0.01), model)
    assert type(optimizer) is StackedMuon
    taken = {id(p) for group in optimizer.param_groups if not group["use_fallback"] for p in group["params"]}
    assert taken == decayed_by_type(model)


def rates(model, **recipe):
    """Return the learning rate of every parameter by name."""
    groups = make_optimizer(Optimization(lr=1.0, **recipe), model.network).param_groups
    of = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    return {name: of[id(parameter)] for name, parameter in model.network.named_parameters()}


@pytest.mark.parametrize("family", [XViT, Perceiver])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "muon"])
def test_lower_layers_learn_at_lower_rates(optimizer, family):
    model = family(num_classes=5, num_frames=4, image_size=16, size=ViTSize(16, 2, 2), patch_size=8)
    found, last = rates(model, optimizer=optimizer, layer_decay=0.5), {XViT: "blocks.1", Perceiver: "blocks.0.layers.1"}
    expected = {"embed": 0.125, last[family]: 0.5, "blocks.0": 0.25, "norm": 1.0, "aggregate": 1.0}
    for name, lr in found.items():
        assert lr == next(value for start, value in expected.items() if name.startswith(start)), name
    assert set(found.values()) == set(expected.values())


@pytest.mark.parametrize(
    ("layers", "frozen"),
    [(0, ["embed"]), (1, ["embed", "blocks.0"]), ("backbone", ["embed", "blocks.0", "blocks.1", "norm"])],
)
def test_frozen_layers_stay_as_they_are(layers, frozen):
    model = tiny(freeze=layers)
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    optimizer = make_optimizer(Optimization(optimizer="adamw", lr=0.1, weight_decay=0.5), model.network)
    model(torch.randn(2, 3, 4, 16, 16)).square().sum().backward()
    optimizer.step()
    changed = {name for name, value in model.network.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {name for name in before if not name.startswith(tuple(f"{part}." for part in frozen))}


def test_blocks_that_are_not_there_cannot_be_frozen():
    for layers, message in ((3, "freeze is 3, the network has 2 blocks"), (-1, "freeze is -1")):
        with pytest.raises(ValueError, match=message):
            tiny(freeze=layers)
    with pytest.raises(ValueError, match="freeze is backbone, but the network has no transformer blocks"):
        ConvNet(num_classes=5, num_frames=4, image_size=32, architecture="i3d", width=4, freeze="backbone")


def test_layers_that_start_at_random_are_not_frozen():
    with pytest.raises(UserError, match=r"would freeze random weights: give model\.weights"):
        tiny(freeze=1).setup("fit")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(lr=0), "lr is 0"),
        (dict(betas=(0.9, 1.0)), "betas is"),
        (dict(warmup=1.0), "warmup is 1"),
        (dict(optimizer="muon", decay_all=True), "decay_all is for sgd and adamw"),
        (dict(cooldown=0.2, whole_cosine=True), "give one of the three"),
        (dict(cooldown=0.2, milestones=(0.5,)), "give one of the three"),
        (dict(cooldown=0.6, warmup=0.5), "more than the training"),
    ],
)
def test_a_recipe_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Optimization(**options)


@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_on_a_gpu_the_optimizer_is_fused_and_its_gradients_can_be_clipped(name):
    with FakeTensorMode():
        optimizer = make_optimizer(Optimization(name), nn.Linear(3, 2, device="cuda"))
        assert all(group["fused"] for group in optimizer.param_groups)
        for parameter in optimizer.param_groups[0]["params"]:
            parameter.grad = torch.ones_like(parameter)
        MixedPrecision("bf16-mixed", "cuda").clip_gradients(optimizer, 1.0)
    assert not any(group["fused"] for group in make_optimizer(Optimization(name), nn.Linear(3, 2)).param_groups)


@pytest.mark.parametrize("architecture", ["c2d", "slowfast", "x3d"])
def test_a_cnns_classifier_has_the_full_rate_and_each_stage_less_than_the_next(architecture):
    network = convnet(architecture, 4, width=8)
    groups = make_optimizer(Optimization("adamw", lr=1.0, layer_decay=0.5), network).param_groups
    rates = {id(value): group["lr"] for group in groups for value in group["params"]}
    head = linear_head(network)
    assert rates[id(head.weight)] == rates[id(head.bias)] == 1
    stages = []
    for block in network.blocks:
        of_block = [
            rates[id(value)] for value in block.parameters() if value is not head.weight and value is not head.bias
        ]
        assert len(set(of_block)) <= 1
        stages += of_block[:1]
    assert stages == [0.5**i for i in range(len(stages), 0, -1)]
