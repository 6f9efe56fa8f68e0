"""Test that schemes of the literature equal loops over their papers' equations."""

import math
from itertools import product

import pytest
import torch

from lit_video.attention import Grid
from lit_video.attention.shifted_windows import ShiftedWindows, SmallWindows
from lit_video.attention.token_learner import TokenLearner
from lit_video.attention.trajectory import Trajectory
from lit_video.schemes.contract import check_contract
from tests.attention.scheme_cases import HEADS, WIDTH, randomised

C = WIDTH // HEADS


class Windows322(ShiftedWindows):
    window = Grid(2, 2, 2)


def tokens(n, seed=1):
    torch.manual_seed(seed)
    return torch.randn(2, n, WIDTH, dtype=torch.float64)


def attend(q, keys, values, extra=None):
    """Attend from a query ``(d,)`` to keys and values, head by head; ``extra (a, j)`` is added to the scores."""
    out = []
    for head in range(HEADS):
        part = slice(head * C, (head + 1) * C)
        scores = torch.stack([q[part] @ k[part] for k in keys]) / math.sqrt(C)
        scores = scores if extra is None else scores + extra[head]
        out.append(sum(share * v[part] for share, v in zip(scores.softmax(0), values, strict=True)))
    return torch.cat(out)


def qkv_of(attn, x):
    return attn.qkv(attn.norm(x)).chunk(3, dim=-1)


def test_trajectory_attention():
    grid = Grid(3, 2, 2)
    layer, s = randomised(Trajectory(WIDTH, HEADS)), grid.h * grid.w
    x = tokens(1 + grid.t * s)
    out = layer(x, grid)
    for b in range(2):
        q, k, v = qkv_of(layer.attn, x[b])
        expected = x[b, 0] + layer.attn.proj(attend(q[0], list(k), list(v)))
        torch.testing.assert_close(out[b, 0], expected)
        for t, place in product(range(grid.t), range(s)):
            i = 1 + t * s + place
            frames = [range(1 + other * s, 1 + (other + 1) * s) for other in range(grid.t)]
            path = [attend(q[i], [k[j] for j in frame], [v[j] for j in frame]) for frame in frames]
            keys, values = zip(*(layer.path_kv(y).chunk(2) for y in path), strict=True)
            expected = x[b, i] + layer.attn.proj(attend(layer.path_q(path[t]), keys, values))
            torch.testing.assert_close(out[b, i], expected)


def test_token_learner():
    grid = Grid(3, 2, 2)
    layer, s = randomised(TokenLearner(WIDTH, HEADS)), grid.h * grid.w
    x = tokens(1 + grid.t * s)
    out = layer(x, grid)
    for b in range(2):
        z, normed = x[b, 1:], layer.norm(x[b, 1:])
        learned = []
        for t, i in product(range(grid.t), range(layer.tokens)):
            places = range(t * s, (t + 1) * s)
            shares = torch.stack([layer.learn(normed[j])[i] for j in places]).softmax(0)
            learned.append(sum(share * z[j] for share, j in zip(shares, places, strict=True)))
        together = torch.stack([x[b, 0], *learned])
        q, k, v = qkv_of(layer.attn, together)
        u = [layer.attn.proj(attend(one, list(k), list(v))) for one in q]
        torch.testing.assert_close(out[b, 0], x[b, 0] + u[0])
        for t, place in product(range(grid.t), range(s)):
            j = t * s + place
            given = layer.fuse(normed[j]).sigmoid()
            fused = sum(given[i] * u[1 + t * layer.tokens + i] for i in range(layer.tokens))
            torch.testing.assert_close(out[b, 1 + j], z[j] + fused)


def window_of(place, grid, window, shifted):
    """Return the window's number along each axis; shifted windows begin half a side later, cut by the clip's edges."""
    number = []
    for at, size, side in zip(place, grid, window, strict=True):
        shift = side // 2 if shifted and side < size else 0
        number.append((at - shift) // side if shift else at // side)
    return tuple(number)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("grid", [Grid(4, 4, 4), Grid(2, 4, 6), Grid(4, 2, 1)])
def test_shifted_windows(grid, number):
    layer = randomised(Windows322(WIDTH, HEADS, number))
    places = list(product(*map(range, grid)))
    x = tokens(len(places))
    out = layer(x, grid)
    window = Grid(*map(min, grid, layer.window))
    q, k, v = qkv_of(layer.attn, x[0])
    for i, place in enumerate(places):
        own = window_of(place, grid, window, bool(number))
        seen = [j for j, other in enumerate(places) if window_of(other, grid, window, bool(number)) == own]
        apart = [[a - b + side - 1 for a, b, side in zip(place, places[j], layer.window, strict=True)] for j in seen]
        extra = torch.stack([layer.bias[:, t, h, w] for t, h, w in apart], dim=1)
        expected = x[0, i] + layer.attn.proj(attend(q[i], [k[j] for j in seen], [v[j] for j in seen], extra))
        torch.testing.assert_close(out[0, i], expected)


@pytest.mark.parametrize("kind", [Trajectory, TokenLearner, SmallWindows])
def test_the_contract_is_kept(kind):
    assert not check_contract(kind).faults


def test_windows_that_do_not_divide_the_grid_are_refused():
    with pytest.raises(ValueError, match="5 x 2 x 2"):
        SmallWindows.check(Grid(5, 2, 2))
