"""Test that mixing equals the paper's equations 9 and 10, written as loops over frames, tokens, heads and channels.

Channels are moved in place: values and gradients must equal those of a plain gather.
"""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from lit_video.attention import Grid, Mixing, MixingPlan, Space
from lit_video.attention.mixing import QKV
from tests.attention.scheme_cases import close, randomised
from tests.attention.test_scheme_oracles import linear, norm

WIDTH = 20
GRIDS = [Grid(1, 1, 1), Grid(1, 2, 3), Grid(3, 2, 3), Grid(4, 3, 2), Grid(5, 1, 1), Grid(5, 2, 4)]
PLANS = {
    "paper": MixingPlan(),
    "window_2": MixingPlan(window=2),
    "window_2_every_channel": MixingPlan(window=2, ratio=1.0),
    "window_3_boundary": MixingPlan(window=3, boundary=True),
    "window_2_boundary_full": MixingPlan(window=2, boundary=True, scope="full"),
    "released": MixingPlan(scope="full"),
    "released_window_3": MixingPlan(window=3, ratio=0.75, scope="full"),
    "ratio_0": MixingPlan(ratio=0),
    "ratio_1": MixingPlan(ratio=1.0),
    "fold_rounded_down": MixingPlan(ratio=0.7),
    "x": MixingPlan(mixed=("x",)),
    "x_full": MixingPlan(mixed=("x",), scope="full"),
    "key": MixingPlan(mixed=("key",)),
    "value": MixingPlan(mixed=("value",)),
    "query": MixingPlan(mixed=("query",)),
    "everything": MixingPlan(mixed=("x", "key", "value", "query")),
    "nothing": MixingPlan(mixed=()),
    "summary": MixingPlan(summary=True),
    "summary_window_2_full": MixingPlan(window=2, summary=True, scope="full"),
    "summary_only": MixingPlan(window=0, summary=True),
    "summary_own": MixingPlan(summary="own"),
    "summary_before_norm": MixingPlan(summary=True, summary_before_norm=True),
    "summary_of_the_paper": MixingPlan(summary=True, summary_before_norm=True, cls_in_summary=True),
    "cls_in_summary_own": MixingPlan(summary="own", cls_in_summary=True),
    "num_summary_tokens": MixingPlan(summary=True, num_summary_tokens=4, mixed=("x",)),
    "summary_tokens_own": MixingPlan(summary="own", num_summary_tokens=4, summary_before_norm=True, mixed=("x",)),
    "causal": MixingPlan(causal=True),
    "causal_window_2": MixingPlan(causal=True, window=2),
    "causal_window_3_boundary": MixingPlan(causal=True, window=3, boundary=True),
    "causal_window_2_full": MixingPlan(causal=True, window=2, scope="full"),
    "causal_every_channel": MixingPlan(causal=True, window=2, ratio=1.0),
    "causal_everything": MixingPlan(causal=True, mixed=("x", "key", "value", "query")),
    "causal_summary_own": MixingPlan(causal=True, summary="own"),
    "causal_window_0": MixingPlan(causal=True, window=0),
}


def mixing(plan, num_heads=2):
    return randomised(Mixing(WIDTH, num_heads, plan))


def tokens(grid):
    torch.manual_seed(1)
    return torch.randn(2, grid.t * (1 + grid.h * grid.w), WIDTH, dtype=torch.float64)


def offset_of(channel, channels, plan):
    """Return the frame offset that the paper gives to a channel out of ``channels``."""
    distances = [plan.window] if plan.boundary else list(range(1, plan.window + 1))
    signs = [-1] if plan.causal else [1, -1]
    offsets = [sign * distance for distance in distances for sign in signs] if plan.window else []
    fold = math.floor(Fraction(str(plan.ratio)) * channels / len(offsets)) if offsets else 0
    return offsets[channel // fold] if fold and channel // fold < len(offsets) else 0


def mixed_by_loops(y, num_heads, plan):
    """Return frames ``(t, m, d)`` with each channel taken from the frame that the plan names."""
    frames, per_frame, width = y.shape
    channels = width if plan.scope == "full" else width // num_heads
    segment = plan.segment or frames
    out = np.zeros_like(y)
    for t, s, channel in product(range(frames), range(per_frame), range(width)):
        source = t + offset_of(channel % channels, channels, plan)
        if 0 <= source < frames and source // segment == t // segment:
            out[t, s, channel] = y[source, s, channel]
    return out


def summaries_by_loops(x, z, weights, plan, grid):
    """Return the key and value of every summary token, by frame."""
    side, found = math.isqrt(plan.num_summary_tokens), {"key": [], "value": []}
    for t in range(grid.t):
        means = []
        for y, column in product(range(side), range(side)):
            inside = [
                1 + row * grid.w + place
                for row, place in product(range(grid.h), range(grid.w))
                if row * side // grid.h == y and place * side // grid.w == column
            ]
            inside += [0] * plan.cls_in_summary
            averaged = x if plan.summary_before_norm else z
            mean = sum(averaged[t, s] for s in inside) / len(inside)
            means.append(norm(mean, weights, "norm") if plan.summary_before_norm else mean)
        _, key, value = np.split(linear(np.stack(means), weights, "qkv"), 3, axis=1)
        found["key"].append(key)
        found["value"].append(value)
    return found


def clip_by_loops(layer, x, grid, num_heads, plan):
    """Compute the layer for one clip ``(t, m, d)``."""
    weights = {name: parameter.detach().numpy() for name, parameter in layer.attn.named_parameters()}
    frames, per_frame, width = x.shape
    c = width // num_heads
    z = norm(x, weights, "norm")
    summaries = summaries_by_loops(x, z, weights, plan, grid)
    if "x" in plan.mixed:
        z = mixed_by_loops(z, num_heads, plan)
    parts = dict(zip(("query", "key", "value"), np.split(linear(z, weights, "qkv"), 3, axis=-1), strict=True))
    parts = {name: mixed_by_loops(y, num_heads, plan) if name in plan.mixed else y for name, y in parts.items()}
    out = np.zeros_like(x)
    for t, s, a in product(range(frames), range(per_frame), range(num_heads)):
        head = slice(a * c, (a + 1) * c)
        frames_summed = {True: range(frames), False: [], "own": [t]}[plan.summary]
        keys, values = (
            [*parts[name][t], *(s for j in frames_summed for s in summaries[name][j])] for name in ("key", "value")
        )
        scores = [math.exp(sum(parts["query"][t, s, head] * key[head]) / math.sqrt(c)) for key in keys]
        for score, value in zip(scores, values, strict=True):
            out[t, s, head] += score / sum(scores) * value[head]
    return x + linear(out, weights, "proj")


def check_equals_the_loops(plan, grid, num_heads=2):
    layer, x = mixing(plan, num_heads), tokens(grid)
    clips = x.numpy().reshape(len(x), grid.t, -1, WIDTH)
    expected = np.stack([clip_by_loops(layer, clip, grid, num_heads, plan) for clip in clips])
    with torch.no_grad():
        close(layer(x, grid), torch.from_numpy(expected).reshape(x.shape))


@pytest.mark.parametrize(
    ("name", "grid"),
    [*((name, GRIDS[-1]) for name in PLANS), *product(("everything", "causal_window_3_boundary"), GRIDS[:-1])],
    ids=lambda value: value if isinstance(value, str) else "x".join(map(str, value)),
)
def test_equals_the_equations_written_as_loops(name, grid):
    check_equals_the_loops(PLANS[name], grid)


@pytest.mark.parametrize("scope", ["per_head", "full"])
@pytest.mark.parametrize("heads", [1, 4, 5])
def test_equals_the_loops_for_any_number_of_heads(heads, scope):
    check_equals_the_loops(MixingPlan(scope=scope), Grid(3, 1, 2), heads)


@pytest.mark.parametrize(("mixed", "summary"), [(("x",), False), (("key", "value"), False), (("key", "value"), True)])
@pytest.mark.parametrize(("t", "segment", "window"), [(6, 3, 1), (6, 2, 2), (4, 4, 1), (3, 1, 1)])
def test_segments_equal_the_loops(t, segment, window, mixed, summary):
    check_equals_the_loops(MixingPlan(window=window, segment=segment, mixed=mixed, summary=summary), Grid(t, 1, 2))


def gathered(layer, y, t, name):
    """Gather every channel of a part ``(b, t * m, d)`` from its frame, out of place."""
    plan, groups = layer.plan, layer.groups
    if name not in plan.mixed:
        return y
    segment = plan.segment or t
    y = y.unflatten(1, (t // segment, segment, -1)).unflatten(-1, (groups, -1))
    channels = y.shape[-1]
    steps = torch.tensor([offset_of(channel, channels, plan) for channel in range(channels)])
    source = torch.arange(segment)[:, None] + steps
    inside = ((source >= 0) & (source < segment))[:, None, None]
    index = source.clamp(0, segment - 1)[:, None, None].expand_as(y)
    return torch.where(inside, y.gather(2, index), 0).flatten(-2).flatten(1, 3)


def moved_and_gradient(projected, t, gradients, move):
    leaf = projected.clone().requires_grad_()
    parts = move(leaf * 1, t)
    return [part.detach() for part in parts], torch.autograd.grad(parts, leaf, gradients)[0]


def assert_moves_as_gathered(layer, t, gradients, dtype=torch.float32):
    def plainly(y, t):
        return [gathered(layer, part, t, name) for part, name in zip(y.chunk(3, dim=-1), QKV, strict=True)]

    projected = torch.randn(2, 2 * t, 3 * WIDTH, dtype=dtype)
    ours, our_gradient = moved_and_gradient(projected, t, gradients, lambda y, t: layer.shift(QKV, y, t))
    parts, gradient = moved_and_gradient(projected, t, gradients, plainly)
    assert all(torch.equal(a, b) for a, b in zip(ours, parts, strict=True))
    assert torch.equal(our_gradient, gradient)


@pytest.mark.parametrize(
    ("t", "dtype"), [(1, torch.float32), (5, torch.float32), (5, torch.bfloat16), (5, torch.float64)], ids=str
)
@pytest.mark.parametrize("name", PLANS)
def test_moves_values_and_gradients_in_place_without_rounding(name, t, dtype):
    torch.manual_seed(0)
    layer = Mixing(WIDTH, 2, PLANS[name])
    assert_moves_as_gathered(layer, t, torch.randn(3, 2, 2 * t, WIDTH, dtype=dtype).unbind(), dtype)
    if not layer.plan.causal:
        in_segments = Mixing(WIDTH, 2, replace(layer.plan, segment=2))
        assert_moves_as_gathered(in_segments, 6, torch.randn(3, 2, 12, WIDTH, dtype=dtype).unbind(), dtype)


def test_gradients_of_any_layout_and_of_one_part_alone():
    layer = Mixing(WIDTH, 2, MixingPlan())
    turned = [torch.randn(WIDTH, 6, 2).permute(2, 1, 0) for _ in range(3)]
    broadcast = [torch.randn(1, 1, WIDTH).expand(2, 6, WIDTH) for _ in range(3)]
    for gradients in (turned, broadcast, torch.randn(2, 6, 3 * WIDTH).chunk(3, dim=-1)):
        assert_moves_as_gathered(layer, 3, gradients)
    for i in range(3):
        leaf = torch.randn(2, 6, 3 * WIDTH, requires_grad=True)
        (ours,) = torch.autograd.grad(layer.shift(QKV, leaf * 1, 3)[i].square().sum(), leaf)
        (theirs,) = torch.autograd.grad(gathered(layer, leaf.chunk(3, dim=-1)[i], 3, QKV[i]).square().sum(), leaf)
        assert torch.equal(ours, theirs) and ours.any()


def view_of_product(x, weight, bias):
    """Compute the linear layer as PyTorch 2.11 does: its output is a view."""
    return torch.addmm(bias, x.flatten(0, -2), weight.t()).view(*x.shape[:-1], len(weight))


@pytest.fixture(params=["own", "view"])
def linear_layers(request, monkeypatch):
    """Linear layers that return a tensor of their own, or a view."""
    if request.param == "view":
        monkeypatch.setattr(torch.nn.functional, "linear", view_of_product)


def kept(layer, x, *grid):
    """Return the bytes that autograd keeps for a pass, without ``x`` and the parameters."""
    tensors = {}  # kept alive, so that no address is reused

    def note(tensor):
        tensors[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        layer(x, *grid)
    known = {tensor.untyped_storage().data_ptr() for tensor in (x, *layer.parameters())}
    return sum(tensor.untyped_storage().nbytes() for place, tensor in tensors.items() if place not in known)


@pytest.mark.parametrize("name", ["paper", "window_2", "released", "everything", "causal"])
@pytest.mark.usefixtures("linear_layers")
def test_keeps_no_more_memory_than_spatial_attention(name):
    grid = Grid(4, 3, 3)
    x = tokens(grid).requires_grad_()
    space = Space(WIDTH, 2).double()
    assert kept(mixing(PLANS[name]), x, grid) == kept(space, x, grid)


@pytest.mark.parametrize("name", ["paper", "causal_window_2", "everything"])
@pytest.mark.usefixtures("linear_layers")
def test_the_layer_is_the_same_however_it_is_run(name, monkeypatch):
    """Run it plainly, with activation checkpointing, without gradients, under vmap, and without in-place moves."""
    grid, layer = Grid(4, 2, 2), mixing(PLANS[name])
    x = tokens(grid).requires_grad_()

    def results(run):
        y = run(x, grid)
        return [y, *torch.autograd.grad(y.square().sum(), [x, *layer.parameters()])]

    expected = results(layer)
    again = results(lambda x, grid: checkpoint(layer, x, grid, use_reentrant=False))
    assert all(torch.equal(a, b) for a, b in zip(again, expected, strict=True))
    with torch.inference_mode():
        assert torch.equal(layer(x, grid), expected[0])
    mapped = torch.func.vmap(lambda clip: layer(clip[None], grid)[0])
    for a, b in zip(results(lambda x, grid: mapped(x)), expected, strict=True):
        close(a, b)
    monkeypatch.setattr("lit_video.attention.in_place._owned", lambda x: None)
    assert all(torch.equal(a, b) for a, b in zip(results(layer), expected, strict=True))


def test_frames_that_are_no_multiple_of_the_segment_are_refused():
    with pytest.raises(ValueError, match="5 frames are not divisible into segments of 2"):
        mixing(MixingPlan(segment=2))(tokens(Grid(5, 1, 1)), Grid(5, 1, 1))


@pytest.mark.parametrize(
    ("ratio", "window", "channels", "fold"), [(0.5, 1, 64, 16), (0.58, 1, 100, 29), (0.5, 2, 64, 8), (1.0, 3, 64, 10)]
)
def test_fold_rounds_down_the_share_itself_and_not_its_floating_point_error(ratio, window, channels, fold):
    assert MixingPlan(window=window, ratio=ratio).fold(channels) == fold


@pytest.mark.parametrize("mixed", [("x",), ("key", "value")])
def test_a_norm_that_does_nothing_leaves_the_residual_as_it_is(mixed):
    layer, grid = Mixing(16, 2, MixingPlan(1, mixed=mixed)).eval(), Grid(3, 2, 2)
    layer.attn.norm = nn.Identity()
    x = torch.randn(1, 3 * 5, 16)
    kept = x.clone()
    with torch.no_grad():
        layer(x, grid)
    assert torch.equal(x, kept)
