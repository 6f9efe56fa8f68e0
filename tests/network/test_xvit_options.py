"""Test that every option of X-ViT does what its name says."""

import pytest
import torch

from lit_video.attention import Grid, Mixing, MixingPlan
from lit_video.modules import XViT
from lit_video.network.block import MLP, Block
from lit_video.network.embedding import ClipSize
from lit_video.network.multiply_adds import count_params_and_macs
from lit_video.network.vit import ViTSize
from lit_video.network.xvit import chosen_layers, xvit

TINY = ViTSize(16, 3, 2)


def tiny(**options):
    torch.manual_seed(0)
    model = XViT(**dict(num_classes=5, num_frames=4, image_size=16, size=TINY, patch_size=8) | options).double().eval()
    for name, parameter in model.named_parameters():
        # parameters at zero (temporal positions, biases) would hide their effect
        torch.nn.init.normal_(parameter, mean=float(name.endswith("norm.weight")), std=0.4)
    return model


def clips(count=3, num_frames=4, height=16, width=16):
    torch.manual_seed(1)
    return torch.randn(count, 3, num_frames, height, width, dtype=torch.float64)


@pytest.mark.parametrize(
    ("choice", "depth", "layers"),
    [
        ("all", 4, {0, 1, 2, 3}),
        ("first_half", 4, {0, 1}),
        ("second_half", 5, {2, 3, 4}),
        ("first_half", 1, set()),
        ([3, 0], 4, {0, 3}),
    ],
)
def test_chosen_layers_are_counted_from_zero(choice, depth, layers):
    assert chosen_layers(choice, depth) == layers


def test_summary_tokens_are_in_the_chosen_layers_alone():
    blocks = xvit(TINY, 5, ClipSize((16, 16), 8, 4), plan=MixingPlan(summary=True), summary_layers="odd").blocks
    assert [block.scheme.plan.summary for block in blocks] == [False, True, False]


def test_settings_of_summary_tokens_change_nothing_without_them():
    given = dict(summary_before_norm=True, cls_in_summary=True, ta_attention="cross")
    one, other = (tiny(ta_layers=0, **options) for options in ({}, given))
    with torch.no_grad():
        assert torch.equal(one(clips()), other(clips()))


def test_every_setting_of_the_mixing_reaches_the_layers():
    settings = dict(window=2, boundary=True, ratio=0.75, mixed=("key",), scope="full", summary=True)
    plans = {block.scheme.plan for block in tiny(**settings, segments=2).network.blocks}
    assert plans == {MixingPlan(**settings, segment=2)}


@pytest.mark.parametrize(("options", "places"), [({}, 2), (dict(ta_layers=0), 1), (dict(ta_attention="cross"), 1)])
def test_dropout_is_that_of_the_frame_tokens_and_of_a_hidden_layer(options, places):
    modules = tiny(dropout=0.3, **options).network.modules()
    assert [m.p for m in modules if isinstance(m, torch.nn.Dropout) and m.p] == [0.3] * places


@pytest.mark.parametrize(("positions", "sees"), [("none", False), ("space", True)])
def test_only_positions_show_where_a_patch_is(positions, sees):
    model, clip = tiny(positions=positions), clips()
    swapped = torch.cat((clip[..., 8:, :], clip[..., :8, :]), dim=-2)
    with torch.no_grad():
        difference = (model(clip) - model(swapped)).abs().max()
    assert difference > 1e-3 if sees else difference < 1e-11


def test_segments_repeat_the_temporal_positions_and_keep_frames_apart():
    model = tiny(segments=2)
    assert model.network.embed.temp_embed.shape == (1, 2, 16)
    clip = clips(1)
    repeated = torch.cat((clip[:, :, :2], clip[:, :, :2]), dim=2)
    with torch.no_grad():
        features = model.network.forward_features(repeated)
    torch.testing.assert_close(features[:, :2], features[:, 2:])
    assert not torch.isclose(features[:, 0], features[:, 1]).all()


def test_stochastic_depth_rises_linearly_from_zero():
    rates = [block.drop_path.drop_prob for block in tiny(drop_path_rate=0.3).network.blocks]
    assert rates == pytest.approx([0, 0.15, 0.3])


def test_stochastic_depth_drops_whole_branches_of_whole_clips_and_scales_the_rest():
    torch.manual_seed(0)
    block, grid = Block(Mixing(16, 2, MixingPlan()), MLP(16), 0.5), Grid(4, 2, 2)
    x = torch.randn(1, 20, 16).expand(64, -1, -1)
    scheme = {False: x[:1], True: x[:1] + 2 * (block.scheme(x[:1], grid) - x[:1])}
    ends = {(a, b): z + 2 * b * block.mlp(z) for a, z in scheme.items() for b in (False, True)}
    matches = [[key for key, end in ends.items() if torch.allclose(y, end[0], atol=1e-5)] for y in block(x, grid)]
    assert all(len(keys) == 1 for keys in matches)
    assert {keys[0] for keys in matches} == set(ends)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(ta_layers=-1), "ta_layers is -1"),
        (dict(layers=[3]), r"layers lists \[3\]"),
        (dict(summary_layers=[1]), "summary_layers does not apply without summary"),
        (dict(summary=True, layers="first_half", summary_layers="second_half"), "summary is True.* summary_layers"),
        (dict(summary=True, num_summary_tokens=9), "2x2 patches do not divide into 3x3 cells"),
        (dict(summary=True, num_summary_tokens=2), "num_summary_tokens is 2"),
        (dict(num_summary_tokens=4), "num_summary_tokens does not apply without summary"),
        (dict(summary=True, num_summary_tokens=4, cls_in_summary=True), "a class token lies in no cell"),
        (dict(summary="mine"), "summary is 'mine'"),
        (dict(window=5), "window 5 at ratio 0.5 leaves no channel"),
        (dict(ratio=1.5), r"ratio is 1\.5"),
        (dict(mixed=("keys",)), "mixed is .*keys"),
        (dict(causal=True), "positions is space-time, but a causal model has no positions in time: give space or none"),
        (dict(causal=True, positions="space", summary=True), "summary is true: .* not causal; give own or false"),
        (dict(causal=True, positions="space", segments=2), "segments is 2: causal mixing has no groups of frames"),
        (dict(causal=True, exact=True, summary=True), "exact attends the whole window; boundary, summary"),
    ],
)
def test_options_that_do_not_fit_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        tiny(**options)


def test_count_is_that_of_a_layer_counted_by_hand():
    model = tiny(layers=[], ta_layers=0)
    patches, width, frames, heads_sum = 4, 16, 4, 16
    tokens = 1 + patches
    per_layer = tokens * width * 3 * width + 2 * tokens * tokens * heads_sum + tokens * width * width * (1 + 4 + 4)
    expected = frames * (patches * 3 * 8 * 8 * width + 3 * per_layer + width * 5)
    parameters, multiply_adds = count_params_and_macs(model.network.float(), frames, 16)
    assert multiply_adds == expected
    assert parameters == sum(p.numel() for p in model.parameters())
    assert all(p.device.type == "cpu" for p in model.parameters())
