"""Mixing must be the paper's equations 9 and 10, written out here as loops over frames, tokens, heads and channels."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch

from lit_video.attention import Grid, Mixing, MixingPlan, Space
from lit_video.attention.mixing import shift_channels

WIDTH = 20
GRIDS = [Grid(1, 1, 1), Grid(1, 2, 3), Grid(3, 2, 3), Grid(4, 3, 2), Grid(5, 1, 1), Grid(5, 2, 3)]
PLANS = {
    "paper": MixingPlan(),
    "window_2": MixingPlan(window=2),
    "window_2_every_channel": MixingPlan(window=2, ratio=1.0),
    "window_3_boundary": MixingPlan(window=3, boundary=True),
    "window_2_boundary_full": MixingPlan(window=2, boundary=True, scope="full"),
    "released": MixingPlan(scope="full"),
    "released_window_3": MixingPlan(window=3, ratio=0.75, scope="full"),
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
    "causal": MixingPlan(causal=True),
    "causal_window_2": MixingPlan(causal=True, window=2),
    "causal_window_3_boundary": MixingPlan(causal=True, window=3, boundary=True),
    "causal_window_2_full": MixingPlan(causal=True, window=2, scope="full"),
    "causal_every_channel": MixingPlan(causal=True, window=2, ratio=1.0),
    "causal_everything": MixingPlan(causal=True, mixed=("x", "key", "value", "query")),
    "causal_summary_own": MixingPlan(causal=True, summary="own"),
    "causal_window_0": MixingPlan(causal=True, window=0),
}


def mixing(plan, heads=2, width=WIDTH):
    layer = Mixing(width, heads, plan).double()
    randomise(layer)
    return layer


def randomise(layer):
    torch.manual_seed(0)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.5)


def tokens(grid, clips=2, width=WIDTH):
    torch.manual_seed(1)
    return torch.randn(clips, grid.t * (1 + grid.h * grid.w), width, dtype=torch.float64)


def offset_of(channel, channels, plan):
    """Frame distance that the paper gives to a channel out of a range of channels."""
    distances = [plan.window] if plan.boundary else list(range(1, plan.window + 1))
    signs = [-1] if plan.causal else [1, -1]
    offsets = [sign * distance for distance in distances for sign in signs] if plan.window else []
    fold = math.floor(Fraction(str(plan.ratio)) * channels / len(offsets)) if offsets else 0
    return offsets[channel // fold] if fold and channel // fold < len(offsets) else 0


def mixed_by_loops(y, heads, plan):
    """Frames ``(t, m, d)`` with each channel taken from the frame that the plan names."""
    frames, per_frame, width = y.shape
    channels = width if plan.scope == "full" else width // heads
    segment = plan.segment or frames
    out = np.zeros_like(y)
    for t, s, channel in product(range(frames), range(per_frame), range(width)):
        source = t + offset_of(channel % channels, channels, plan)
        if 0 <= source < frames and source // segment == t // segment:
            out[t, s, channel] = y[source, s, channel]
    return out


def normed(x, weights):
    z = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
    return z * weights["norm.weight"] + weights["norm.bias"]


def summaries_by_loops(x, z, weights, plan, grid):
    """Key and value of every summary token, by frame."""
    side, width = math.isqrt(plan.summary_tokens), x.shape[-1]
    found = {"key": [], "value": []}
    for t, (i, name) in product(range(grid.t), enumerate(("key", "value"), 1)):
        rows, of_frame = slice(i * width, (i + 1) * width), []
        for y, column in product(range(side), range(side)):
            inside = [
                1 + row * grid.w + place
                for row, place in product(range(grid.h), range(grid.w))
                if row * side // grid.h == y and place * side // grid.w == column
            ]
            averaged = x if plan.summary_before_norm else z
            mean = sum(averaged[t, s] for s in inside) / len(inside)
            mean = normed(mean, weights) if plan.summary_before_norm else mean
            of_frame.append(weights["qkv.weight"][rows] @ mean + weights["qkv.bias"][rows])
        found[name].append(of_frame)
    return found


def clip_by_loops(layer, x, grid, heads, plan):
    """One clip ``(t, m, d)`` through the layer."""
    weights = {name: parameter.detach().numpy() for name, parameter in layer.attn.named_parameters()}
    frames, per_frame, width = x.shape
    c = width // heads
    z = normed(x, weights)
    summaries = summaries_by_loops(x, z, weights, plan, grid)
    if "x" in plan.mixed:
        z = mixed_by_loops(z, heads, plan)
    parts = {}
    for i, name in enumerate(("query", "key", "value")):
        rows = slice(i * width, (i + 1) * width)
        parts[name] = z @ weights["qkv.weight"][rows].T + weights["qkv.bias"][rows]
    parts = {name: mixed_by_loops(y, heads, plan) if name in plan.mixed else y for name, y in parts.items()}
    out = np.zeros_like(x)
    for t, s, a in product(range(frames), range(per_frame), range(heads)):
        head = slice(a * c, (a + 1) * c)
        frames_summed = {True: range(frames), False: [], "own": [t]}[plan.summary]
        keys, values = (
            [*parts[name][t], *(s for j in frames_summed for s in summaries[name][j])] for name in ("key", "value")
        )
        scores = [math.exp(sum(parts["query"][t, s, head] * key[head]) / math.sqrt(c)) for key in keys]
        for score, value in zip(scores, values, strict=True):
            out[t, s, head] += score / sum(scores) * value[head]
    return x + out @ weights["proj.weight"].T + weights["proj.bias"]


def by_loops(layer, x, grid, heads, plan):
    clips = x.numpy().reshape(len(x), grid.t, -1, x.shape[-1])
    return torch.from_numpy(np.stack([clip_by_loops(layer, clip, grid, heads, plan) for clip in clips])).reshape(
        x.shape
    )


def close(a, b):
    torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: "x".join(map(str, grid)))
@pytest.mark.parametrize("name", PLANS)
def test_equals_the_equations_written_as_loops(name, grid):
    layer, x = mixing(PLANS[name]), tokens(grid)
    with torch.no_grad():
        close(layer(x, grid), by_loops(layer, x, grid, 2, PLANS[name]))


@pytest.mark.parametrize("before_norm", [False, True])
@pytest.mark.parametrize("frames", [True, "own"])
def test_several_summary_tokens_of_a_frame_equal_the_loops(frames, before_norm):
    plan = MixingPlan(summary=frames, summary_tokens=4, summary_before_norm=before_norm, mixed=("x",))
    layer, grid = mixing(plan), Grid(3, 2, 4)
    x = tokens(grid)
    with torch.no_grad():
        close(layer(x, grid), by_loops(layer, x, grid, 2, plan))


@pytest.mark.parametrize("scope", ["per_head", "full"])
@pytest.mark.parametrize("heads", [1, 4, 5])
def test_equals_the_loops_for_any_number_of_heads(heads, scope):
    plan, grid = MixingPlan(scope=scope), Grid(3, 1, 2)
    layer, x = mixing(plan, heads), tokens(grid)
    with torch.no_grad():
        close(layer(x, grid), by_loops(layer, x, grid, heads, plan))


@pytest.mark.parametrize(("mixed", "summary"), [(("x",), False), (("key", "value"), False), (("key", "value"), True)])
@pytest.mark.parametrize(("t", "segment", "window"), [(6, 3, 1), (6, 2, 2), (4, 4, 1), (3, 1, 1)])
def test_segments_equal_the_loops(t, segment, window, mixed, summary):
    plan, grid = MixingPlan(window=window, segment=segment, mixed=mixed, summary=summary), Grid(t, 1, 2)
    layer, x = mixing(plan), tokens(grid)
    with torch.no_grad():
        close(layer(x, grid), by_loops(layer, x, grid, 2, plan))


@pytest.mark.parametrize("plan", [MixingPlan(window=0), MixingPlan(ratio=0), MixingPlan(mixed=())])
@pytest.mark.parametrize("grid", [Grid(1, 2, 3), Grid(4, 2, 3)])
def test_without_window_ratio_or_anything_mixed_it_is_space(plan, grid):
    layer, x = mixing(plan), tokens(grid)
    space = Space(WIDTH, 2).double()
    space.load_state_dict(layer.state_dict())
    close(layer(x, grid), space(x, grid))


def test_space_keeps_frames_apart_as_frames_given_alone():
    grid = Grid(3, 2, 2)
    layer, x = Space(WIDTH, 2).double(), tokens(grid)
    randomise(layer)
    alone = [layer(frame, Grid(1, 2, 2)) for frame in x.chunk(3, dim=1)]
    close(layer(x, grid), torch.cat(alone, dim=1))


def reached(t, frames, steps, layers):
    """Frames that the output of frame ``t`` can depend on."""
    sources = {t}
    for _ in range(layers):
        sources |= {frame + step for frame in sources for step in steps if 0 <= frame + step < frames}
    return sources


def seen(layers, grid):
    """For each output frame, the input frames with a gradient."""
    x = tokens(grid, clips=1).requires_grad_()
    y = x
    for layer in layers:
        y = layer(y, grid)
    sources = []
    for frame in y.chunk(grid.t, dim=1):
        (gradient,) = torch.autograd.grad((frame * torch.randn_like(frame)).sum(), x, retain_graph=True)
        sources.append({i for i, part in enumerate(gradient.chunk(grid.t, dim=1)) if part.abs().max() > 1e-12})
    return sources


@pytest.mark.parametrize("mixed", [("key", "value"), ("key",), ("value",), ("query",), ("x",)], ids="_".join)
@pytest.mark.parametrize(("window", "layers"), [(0, 2), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 2)])
def test_each_layer_widens_the_view_by_exactly_the_window(window, layers, mixed):
    plan, grid = MixingPlan(window=window, ratio=0.8, mixed=mixed), Grid(9, 1, 2)
    expected = [{i for i in range(grid.t) if abs(i - t) <= layers * window} for t in range(grid.t)]
    assert seen([mixing(plan) for _ in range(layers)], grid) == expected


@pytest.mark.parametrize("scope", ["per_head", "full"])
@pytest.mark.parametrize("mixed", [("key", "value"), ("key",), ("value",), ("query",), ("x",)], ids="_".join)
@pytest.mark.parametrize(("window", "layers"), [(0, 2), (1, 1), (1, 3), (2, 2), (3, 2)])
def test_causal_layers_widen_the_view_into_the_past_alone(window, layers, mixed, scope):
    plan, grid = MixingPlan(window=window, ratio=0.8, mixed=mixed, scope=scope, causal=True), Grid(9, 1, 2)
    expected = [{i for i in range(grid.t) if 0 <= t - i <= layers * window} for t in range(grid.t)]
    assert seen([mixing(plan) for _ in range(layers)], grid) == expected


def test_a_causal_boundary_sees_whole_steps_back():
    plan, grid = MixingPlan(window=2, boundary=True, causal=True), Grid(9, 1, 2)
    assert seen([mixing(plan)] * 2, grid) == [reached(t, grid.t, (-2,), 2) for t in range(grid.t)]


def test_causal_mixing_of_a_video_played_backwards_reads_the_future():
    """Mirrored in time and with the offsets' signs changed, the shift is itself: nothing else depends on direction."""
    x = torch.randn(2, 6, 3, 10, dtype=torch.float64)
    past = MixingPlan(window=2, causal=True)
    shifted = shift_channels(x, past.offsets, past.fold(10))
    future = shift_channels(x.flip(1), [-k for k in past.offsets], past.fold(10)).flip(1)
    assert torch.equal(shifted, future)
    assert not torch.equal(shifted, x)


@pytest.mark.parametrize("ratio", [0.5, 1.0])
@pytest.mark.parametrize(("window", "layers"), [(1, 2), (2, 1), (2, 2), (3, 2), (2, 3)])
def test_boundary_sees_only_whole_steps_of_the_window(window, layers, ratio):
    plan, grid = MixingPlan(window=window, boundary=True, ratio=ratio), Grid(9, 1, 2)
    expected = [reached(t, grid.t, (window, -window), layers) for t in range(grid.t)]
    assert seen([mixing(plan) for _ in range(layers)], grid) == expected


@pytest.mark.parametrize("scope", ["per_head", "full"])
def test_segments_hide_the_frames_of_other_segments(scope):
    plan, grid = MixingPlan(window=2, segment=3, scope=scope), Grid(6, 1, 1)
    assert seen([mixing(plan)] * 2, grid) == [{0, 1, 2}] * 3 + [{3, 4, 5}] * 3


def test_a_summary_of_its_own_shows_a_frame_no_other():
    grid = Grid(4, 1, 2)
    assert seen([mixing(MixingPlan(window=0, summary="own"))] * 2, grid) == [{t} for t in range(4)]


def test_summary_tokens_show_every_frame_across_segments():
    plan, grid = MixingPlan(summary=True, segment=2), Grid(6, 1, 2)
    assert seen([mixing(plan)], grid) == [set(range(6))] * 6


@pytest.mark.parametrize("order", [[3, 2, 1, 0], [1, 0, 2, 3], [1, 2, 3, 0]])
def test_the_order_of_frames_matters_to_mixing_and_not_to_space(order):
    grid = Grid(4, 2, 2)
    layer, x = mixing(MixingPlan()), tokens(grid)
    space = Space(WIDTH, 2).double()
    space.load_state_dict(layer.state_dict())

    def permuted(y):
        return y.unflatten(1, (grid.t, -1))[:, order].flatten(1, 2)

    close(space(permuted(x), grid), permuted(space(x, grid)))
    assert (layer(permuted(x), grid) - permuted(layer(x, grid))).abs().max() > 1e-2


@pytest.mark.parametrize("frames", [1, 3])
@pytest.mark.parametrize("fold", [1, 2])
@pytest.mark.parametrize("offsets", [(1, -1), (-2,), (1, -1, 2, -2), (5, -5), (3, -3, 1, -1)], ids=str)
def test_gradients_of_borrow_to_second_order(offsets, fold, frames):
    torch.manual_seed(0)
    x = torch.randn(2, frames, 2, 9, dtype=torch.float64, requires_grad=True)

    def squared(y):
        # the map alone is linear, its second derivative zero for any backward pass
        return shift_channels(y, offsets, fold) ** 2

    assert torch.autograd.gradcheck(lambda y: shift_channels(y, offsets, fold), x)
    assert torch.autograd.gradcheck(squared, x)
    assert torch.autograd.gradgradcheck(squared, x)


def test_borrow_of_a_view_equals_borrow_of_its_copy():
    x = torch.arange(2 * 3 * 4 * 6.0).reshape(2, 4, 3, 6).transpose(1, 2)
    assert torch.equal(shift_channels(x, (1, -1), 2), shift_channels(x.contiguous(), (1, -1), 2))
    expanded = torch.arange(6.0).expand(2, 3, 4, 6)
    assert torch.equal(shift_channels(expanded, (1, -1), 2), shift_channels(expanded.contiguous(), (1, -1), 2))


@pytest.mark.parametrize("name", PLANS)
def test_no_parameter_is_dead(name):
    grid = Grid(4, 2, 2)
    layer, x = mixing(PLANS[name]), tokens(grid)
    y = layer(x, grid)
    (y * torch.randn_like(y)).sum().backward()
    assert all(parameter.grad.abs().min() > 1e-9 for key, parameter in layer.named_parameters() if "qkv" not in key)
    assert (layer.attn.qkv.weight.grad.abs().amax(1) > 1e-9).all()
    # a constant added to all keys cancels in the softmax, so the bias of the keys has none
    query, _, value = layer.attn.qkv.bias.grad.chunk(3)
    assert min(query.abs().min(), value.abs().min()) > 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(ratio=1.5), r"ratio is 1\.5"),
        (dict(ratio=-0.1), r"ratio is -0\.1"),
        (dict(ratio=math.nan), "ratio is nan"),
        (dict(window=-1), "window is -1"),
        (dict(summary="mine"), "summary is 'mine', expected true, false or own"),
        (dict(summary=True, summary_tokens=2), "summary_tokens is 2, expected 1, 4, 9"),
        (dict(summary_tokens=4), "do not apply without summary"),
        (dict(summary_before_norm=True), "do not apply without summary"),
        (dict(causal=True, summary=True), "summary is true: the summary tokens of all frames are not causal"),
        (dict(causal=True, segment=4), "segments is 4: causal mixing has no groups"),
        (dict(mixed=("key", "keys")), "mixed names keys, expected x, key, value or query"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MixingPlan(**options)


def test_a_window_that_leaves_no_channel_is_refused_when_the_layer_is_built():
    plan = MixingPlan(window=6)
    with pytest.raises(ValueError, match=r"window 6 at ratio 0\.5 leaves no channel .* 10 channels for 12 neigh"):
        Mixing(WIDTH, 2, plan)
    assert Mixing(2 * WIDTH, 1, plan).fold == 1


def test_frames_that_are_no_multiple_of_the_segment_are_refused():
    with pytest.raises(ValueError, match="5 frames are not divisible into segments of 2"):
        mixing(MixingPlan(segment=2))(tokens(Grid(5, 1, 1)), Grid(5, 1, 1))


@pytest.mark.parametrize(
    ("ratio", "window", "channels", "fold"), [(0.5, 1, 64, 16), (0.58, 1, 100, 29), (0.5, 2, 64, 8), (1.0, 3, 64, 10)]
)
def test_fold_rounds_down_the_share_itself_and_not_its_floating_point_error(ratio, window, channels, fold):
    assert MixingPlan(window=window, ratio=ratio).fold(channels) == fold


def test_the_ratio_is_the_share_of_other_frames_channels_with_and_without_causal():
    for window in (1, 2):
        both, past = MixingPlan(window=window), MixingPlan(window=window, causal=True)
        assert past.fold(64) == 2 * both.fold(64)
        assert len(past.offsets) * past.fold(64) == len(both.offsets) * both.fold(64) == 32
    assert MixingPlan(window=3, causal=True).offsets == (-1, -2, -3)


@pytest.mark.parametrize("name", ["paper", "released", "window_2", "summary", "x"])
def test_exported_program_computes_the_same(name):
    grid = Grid(3, 2, 2)
    layer, x = mixing(PLANS[name]).eval(), tokens(grid)
    exported = torch.export.export(layer, (x, grid)).module()
    with torch.no_grad():
        close(exported(x, grid), layer(x, grid))
