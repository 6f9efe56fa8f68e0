"""Test that every network trains all its parameters, on any grid, checkpointed, compiled and exported."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from lit_video.attention import MixingPlan
from lit_video.modules import ViViT
from lit_video.network.block import Block, set_grad_checkpointing
from lit_video.network.embedding import ClipSize
from lit_video.network.perceiver import perceiver
from lit_video.network.positions import Positions
from lit_video.network.timesformer import SCHEMES, timesformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.network.xvit import temporal_aggregation, xvit
from tests.conftest import quick_or_slow

SIZE, CLASSES, PATCH = ViTSize(16, 2, 2), 5, 4
MEAN = dict(aggregate=temporal_aggregation(SIZE, CLASSES, 0))
NETWORKS = {
    "xvit": (xvit, {}),
    "xvit_mean": (xvit, MEAN),
    "xvit_cross": (xvit, dict(aggregate=temporal_aggregation(SIZE, CLASSES, 2, ta_attention="cross"))),
    "xvit_summary": (xvit, dict(plan=MixingPlan(summary=True))),
    "xvit_exact": (xvit, dict(exact=True)),
    "xvit_causal": (xvit, dict(plan=MixingPlan(causal=True), positions=Positions("space"))),
    **{f"timesformer_{attention}": (timesformer, dict(attention_type=attention)) for attention in SCHEMES},
    "timesformer_equation_11": (timesformer, dict(cls_in_time=True, hidden_head=True)),
    "vivit_1": (vivit, dict(variant=1)),
    "vivit_1_mean": (vivit, dict(variant=1, pool="mean")),
    "vivit_1_sampled": (vivit, dict(variant=1, sampled_frames=2, tubelet_size=1)),
    "vivit_2": (vivit, dict(variant=2, temporal_depth=1)),
    "vivit_2_mean": (vivit, dict(variant=2, pool="mean", temporal_depth=1)),
    "vivit_2_baseline": (vivit, dict(variant=2, temporal="mean")),
    "vivit_3": (vivit, dict(variant=3)),
    "vivit_3_time_space": (vivit, dict(variant=3, order="time_space")),
    "vivit_4": (vivit, dict(variant=4)),
    "perceiver": (perceiver, dict(num_latents=3)),
    "perceiver_twice": (perceiver, dict(num_latents=3, reads=2, tubelet_size=2)),
}


def build(name, num_frames=4, image_size=(8, 8), **changes):
    """Build a network with random weights: parameters at zero would hide all before them."""
    torch.manual_seed(0)
    builder, options = NETWORKS[name]
    options = dict(size=SIZE, classes=CLASSES) | copy.deepcopy(options) | changes
    tubelet = options.pop("tubelet_size", 2 if builder is vivit else 1)
    clip = ClipSize(
        image_size, PATCH, num_frames, tubelet_size=tubelet, sampled_frames=options.pop("sampled_frames", None)
    )
    network = builder(clip=clip, **options)
    for key, parameter in network.named_parameters():
        nn.init.normal_(parameter, mean=float("norm" in key and key.endswith("weight")), std=0.3)
    return network.eval()


def clip_of(num_frames=4, height=8, width=8, count=2, dtype=torch.float32):
    return torch.randn(count, 3, num_frames, height, width, generator=torch.Generator().manual_seed(1), dtype=dtype)


def gradients(network, seed=0):
    """Return loss and gradients of a training step."""
    torch.manual_seed(seed)
    network.zero_grad()
    clip = clip_of(dtype=next(network.parameters()).dtype)
    loss = F.cross_entropy(network(clip), torch.tensor([1, 3]))
    loss.backward()
    return {"loss": loss.detach(), **{key: parameter.grad.clone() for key, parameter in network.named_parameters()}}


# frames, height, width: even grids, which every scheme accepts, and others
EVEN = [(2, 8, 8), (4, 8, 24), (8, 16, 8)]
ODD = [(2, 4, 4), (6, 12, 8), (10, 4, 20)]


@pytest.mark.parametrize("name", NETWORKS)
def test_any_clip_is_classified_and_teaches_every_parameter(name):
    network, shapes = build(name).double(), EVEN if name.endswith("_global") else EVEN + ODD
    for shape in shapes:
        clips = clip_of(*shape, count=3, dtype=torch.float64)
        with torch.no_grad():
            logits, alone = network(clips), torch.cat([network(clip[None]) for clip in clips])
        assert logits.shape == (3, CLASSES)
        torch.testing.assert_close(logits, alone, atol=1e-11, rtol=1e-11)
        assert (logits[0] - logits[1]).abs().max() > 1e-3
    assert network(clips[:0]).shape == (0, CLASSES), "an empty batch"
    logits = network(clips)
    (logits * torch.randn_like(logits)).sum().backward()
    untaught = [key for key, p in network.named_parameters() if p.grad is None or p.grad.norm() < 1e-9]
    # the class token reads patches in space only: nothing reads the last layer's attention in time
    last = [key for key, _ in network.named_parameters() if key.startswith("blocks.1.scheme.time_")]
    assert untaught == (last if name in ("timesformer_space_before_time", "timesformer_parallel") else [])


@pytest.mark.parametrize("part", ["attention", "block"])
@pytest.mark.parametrize("name", NETWORKS)
def test_activation_checkpointing_changes_neither_loss_nor_gradients(name, part):
    plain = build(name, drop_path_rate=0.4).train()
    saving = copy.deepcopy(plain)
    set_grad_checkpointing(saving, part)
    assert list(saving.state_dict()) == list(plain.state_dict())
    runs = []
    blocks = [module for module in saving.modules() if isinstance(module, Block)]
    for block in blocks:
        block.scheme.register_forward_pre_hook(lambda *_: runs.append("attention"))
        block.mlp.register_forward_pre_hook(lambda *_: runs.append("mlp"))
    expected, actual = gradients(plain), gradients(saving)
    assert runs.count("attention") == 2 * len(blocks)
    assert runs.count("mlp") == (2 if part == "block" else 1) * len(blocks)
    assert all(torch.equal(actual[key], value) for key, value in expected.items())
    runs.clear()
    with torch.no_grad():
        assert torch.equal(saving.eval()(clip_of()), plain.eval()(clip_of()))
    assert len(runs) == 2 * len(blocks)


@pytest.mark.parametrize("name", NETWORKS)
def test_stochastic_depth_drops_in_training_only(name):
    network, without = build(name, drop_path_rate=0.8).train(), build(name)
    runs = [gradients(network, seed) for seed in range(4)]
    assert all(value.isfinite().all() for run in runs for value in run.values())
    assert len({run["loss"].item() for run in runs}) > 1
    assert torch.equal(network.eval()(clip_of()), without(clip_of()))


SHALLOW = dict(size=ViTSize(16, 1, 2))
VARIANTS = {"xvit_mean", "vivit_1_mean", "vivit_2_mean", "vivit_3_time_space", "perceiver_twice"}
ALL = sorted(NETWORKS.keys() - VARIANTS)


# to trace a network takes seconds
@pytest.mark.parametrize("name", quick_or_slow(ALL, {"xvit"}))
def test_networks_compile_into_one_graph(name):
    network = build(name, **SHALLOW).double().train()
    expected = gradients(network)
    torch.compiler.reset()
    actual = gradients(torch.compile(network, fullgraph=True, backend="eager"))
    for value, compiled in zip(expected.values(), actual.values(), strict=True):
        torch.testing.assert_close(compiled, value, atol=1e-12, rtol=1e-12)


# exported for one length only: a loop over the frames, and frames chosen by number
OF_ONE_LENGTH = {"xvit_exact", "vivit_1_sampled"}


@pytest.mark.parametrize("name", quick_or_slow(ALL, {"timesformer_divided"}))
def test_networks_can_be_exported_for_batches_and_lengths_of_any_size(name):
    network, clip = build(name, **SHALLOW).double(), clip_of(dtype=torch.float64)
    lengths = () if name in OF_ONE_LENGTH else (6, 12)
    shapes = {0: torch.export.Dim("batch")} | ({2: torch.export.Dim.DYNAMIC} if lengths else {})
    exported = torch.export.export(network, (clip,), dynamic_shapes=(shapes,)).module()
    with torch.no_grad():
        for batch in (clip, *(clip_of(frames, count=5, dtype=torch.float64) for frames in (4, *lengths))):
            torch.testing.assert_close(exported(batch), network(batch), atol=1e-12, rtol=1e-12)


class Noted(nn.Module):
    """Stand-in for stochastic depth that notes the shapes of the branches and drops all of them."""

    def __init__(self):
        super().__init__()
        self.shapes = []

    def forward(self, x):
        self.shapes.append(tuple(x.shape))
        return torch.zeros_like(x)


def test_stochastic_depth_of_divided_attention_drops_places_and_frames():
    """Drop patches in time and frames in space, like TimeSformer's release; ``time_fc`` comes after the drop."""
    network = build("timesformer_divided", drop_path_rate=0.5)
    block, drop = network.blocks[-1], Noted()
    assert block.scheme.time_attn.drop is block.drop_path
    assert network.blocks[0].drop_path.drop_prob == 0  # the first layer drops nothing
    assert isinstance(network.blocks[0].scheme.time_attn.drop, torch.nn.Identity)
    assert block.scheme.drop_branches(drop)
    tokens, grid = network.embed(clip_of())
    b, d = tokens.shape[0], tokens.shape[2]
    with torch.no_grad():
        out = block.scheme(tokens, grid)
    places = grid.h * grid.w
    assert drop.shapes == [(b * places, grid.t, d), (b * grid.t, 1 + places, d)]
    torch.testing.assert_close(out[:, 0], tokens[:, 0])
    torch.testing.assert_close(out[:, 1:], tokens[:, 1:] + block.scheme.time_fc.bias)


@pytest.mark.parametrize("variant", [1, 2, 3, 4])
def test_the_classifier_starts_at_zero_where_it_is_asked_for(variant):
    options = dict(num_classes=5, num_frames=4, image_size=16, size=ViTSize(16, 1, 2), patch_size=8, variant=variant)
    torch.manual_seed(0)
    usual = ViViT(**options).network.state_dict()
    torch.manual_seed(0)
    zero = ViViT(**options, zero_head=True).network.state_dict()
    assert {key for key in usual if not torch.equal(usual[key], zero[key])} == {"aggregate.head.weight"}
    assert zero["aggregate.head.weight"].count_nonzero() == 0
