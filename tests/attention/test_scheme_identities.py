"""Schemes must coincide where their definitions do, and see the order of frames and patches only where they should."""

import pytest
import torch

from lit_video.attention import (
    Bottleneck,
    Factorised,
    FactorisedHeads,
    Grid,
    Joint,
    LocalWindow,
    Space,
    ZeroLinear,
)
from tests.attention.scheme_cases import CASES, WIDTH, close, randomised


def space_of(layer):
    """Spatial attention with the weights that a scheme has for its spatial step."""
    space = Space(WIDTH, layer.attn.heads).double()
    space.attn.load_state_dict(layer.attn.state_dict())
    return space


@pytest.mark.parametrize("grid", [Grid(1, 1, 1), Grid(1, 3, 2)], ids=str)
@pytest.mark.parametrize("name", ["joint", "joint_no_cls"])
def test_joint_attention_of_one_frame_is_space(name, grid):
    layer, x = CASES[name].layer(), CASES[name].tokens(grid)
    close(layer(x, grid), space_of(layer)(x, grid))


@pytest.mark.parametrize("name", ["space", "space_no_cls"])
@pytest.mark.parametrize("grid", CASES["space"].grids, ids=str)
def test_local_window_is_space_at_0_and_joint_from_the_clip_length_on(name, grid):
    layer, x = CASES[name].layer(), CASES[name].tokens(grid)
    joint = Joint(WIDTH, layer.attn.heads).double()
    for window, other in [(0, layer), (grid.t - 1, joint), (grid.t, joint), (grid.t + 3, joint)]:
        local = LocalWindow(WIDTH, layer.attn.heads, window).double()
        local.load_state_dict(layer.state_dict())
        other.load_state_dict(layer.state_dict())
        close(local(x, grid), other(x, grid))


def frames(t, h, w):
    return torch.arange(t * h * w).reshape(t, h * w)


def columns(t, h, w):
    return torch.arange(t * h * w).reshape(t, h, w).transpose(1, 2).reshape(t * w, h)


def every_second(t, h, w):
    index = torch.arange(t * h * w).reshape(t, h, w)
    return torch.stack([index[k::2, i::2, j::2].flatten() for k in (0, 1) for i in (0, 1) for j in (0, 1)])


@pytest.mark.parametrize(
    ("name", "groups", "added"), [("divided", frames, 1), ("axial", columns, 2), ("local_global", every_second, 1)]
)
@pytest.mark.parametrize("grid", [Grid(2, 2, 4), Grid(4, 6, 2)], ids=str)
def test_while_the_added_steps_are_zero_the_last_is_all_there_is(name, groups, added, grid):
    layer, x = CASES[name].layer(), CASES[name].tokens(grid)
    zeros = [module for module in layer.modules() if isinstance(module, ZeroLinear)]
    for module in zeros:
        module.reset_parameters()
    assert len(zeros) == added
    index = 1 + groups(*grid)
    copies = torch.cat((torch.zeros(len(index), 1, dtype=int), index), dim=1)
    y = space_of(layer)(x[:, copies.flatten()], Grid(len(copies), 1, index.shape[1])).unflatten(1, copies.shape)
    expected = torch.empty_like(x)
    expected[:, 0] = y[:, :, 0].mean(1)
    expected[:, index.flatten()] = y[:, :, 1:].flatten(1, 2)
    close(layer(x, grid), expected)


@pytest.mark.parametrize("name", ["factorised", "factorised_time_first"])
@pytest.mark.parametrize("grid", CASES["factorised"].grids, ids=str)
def test_while_the_projection_in_time_is_zero_factorised_is_space(name, grid):
    layer, x = CASES[name].layer(), CASES[name].tokens(grid)
    layer.time_attn.proj.reset_parameters()
    close(layer(x, grid), space_of(layer)(x, grid))


@pytest.mark.parametrize("name", ["divided", "local_global", "axial", "factorised", "factorised_time_first"])
def test_a_new_layer_has_zeros_at_the_end_of_each_added_step(name):
    layer = CASES[name].factory(WIDTH, 4)
    zero = {key for key, parameter in layer.named_parameters() if "norm" not in key and not parameter.any()}
    last = [step.fc for step in CASES[name].steps if step.fc] or ["time_attn.proj"]
    assert zero == {f"{linear}.{part}" for linear in last for part in ("weight", "bias")}


def test_the_two_orders_of_factorised_are_each_other_with_time_and_space_swapped():
    grid, swapped = Grid(3, 4, 1), Grid(4, 3, 1)
    layer, x = CASES["factorised"].layer(), CASES["factorised"].tokens(grid)
    other = Factorised(WIDTH, 4, order="time_space").double()
    other.attn.load_state_dict(layer.time_attn.state_dict())
    other.time_attn.load_state_dict(layer.attn.state_dict())
    y = other(x.unflatten(1, (3, 4)).transpose(1, 2).flatten(1, 2), swapped)
    close(layer(x, grid), y.unflatten(1, (4, 3)).transpose(1, 2).flatten(1, 2))


def test_factorised_heads_are_themselves_with_time_and_space_and_the_halves_of_the_heads_swapped():
    grid, swapped = Grid(3, 4, 1), Grid(4, 3, 1)
    layer, x = CASES["factorised_heads"].layer(), CASES["factorised_heads"].tokens(grid)
    other = FactorisedHeads(WIDTH, 4).double()
    weights = layer.state_dict()
    for key in ("attn.qkv.weight", "attn.qkv.bias"):
        weights[key] = weights[key].unflatten(0, (3, 2, -1)).flip(1).flatten(0, 2)
    weights["attn.proj.weight"] = weights["attn.proj.weight"].unflatten(1, (2, -1)).flip(1).flatten(1)
    other.load_state_dict(weights)
    y = other(x.unflatten(1, (3, 4)).transpose(1, 2).flatten(1, 2), swapped)
    close(layer(x, grid), y.unflatten(1, (4, 3)).transpose(1, 2).flatten(1, 2))


def test_a_bottleneck_whose_latents_are_the_tokens_is_joint():
    grid = Grid(3, 2, 2)
    bottleneck, x = randomised(Bottleneck(WIDTH, 4)), CASES["joint_no_cls"].tokens(grid)
    bottleneck.token_norm.load_state_dict(bottleneck.norm.state_dict())
    joint = Joint(WIDTH, 4).double()
    joint.attn.norm.load_state_dict(bottleneck.norm.state_dict())
    joint.attn.proj.load_state_dict(bottleneck.proj.state_dict())
    for key in ("weight", "bias"):
        parts = (bottleneck.q.state_dict()[key], bottleneck.kv.state_dict()[key])
        joint.attn.qkv.state_dict()[key].copy_(torch.cat(parts))
    close(bottleneck(x, x), joint(x, grid))


def moved(case, grid, axis, order):
    """Index of the tokens after the frames, or the places of all frames alike, were put in another order."""

    def source(place):
        if axis == "frames":
            return place if place.t is None else place._replace(t=order[place.t])
        if not place.is_patch:
            return place
        h, w = divmod(order[place.h * grid.w + place.w], grid.w)
        return place._replace(h=h, w=w)

    places = case.places(grid)
    # latents share a place, and stay
    return [places.index(source(place)) if place != (None, None, None) else n for n, place in enumerate(places)]


@pytest.mark.parametrize(("axis", "order"), [("frames", [1, 0, 2, 3]), ("patches", [1, 2, 3, 4, 5, 6, 7, 0])])
@pytest.mark.parametrize("name", CASES)
def test_order_matters_exactly_where_the_scheme_depends_on_it(name, axis, order):
    case, grid = CASES[name], Grid(4, 2, 4)
    layer, x, index = case.layer(), case.tokens(grid), moved(case, grid, axis, order)
    with torch.no_grad():
        before, after = layer(x[:, index], grid), layer(x, grid)[:, index]
    if axis in case.order_matters:
        assert (before - after).abs().max() > 1e-2
    else:
        close(before, after)


def test_local_global_separates_even_frames_from_odd_ones_and_no_more():
    case, grid = CASES["local_global"], Grid(6, 2, 2)
    layer, x, index = case.layer(), case.tokens(grid), moved(case, grid, "frames", [5, 2, 1, 4, 3, 0])
    close(layer(x[:, index], grid), layer(x, grid)[:, index])
