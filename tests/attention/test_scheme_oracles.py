"""Test that each scheme equals its paper's index sets, as loops over tokens and heads with the softmax written out."""

import math

import numpy as np
import pytest
import torch

from lit_video.attention import Grid
from tests.attention.scheme_cases import CASES, HEADS, close, with_steps


def norm(x, weights, name):
    z = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
    return z * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def linear(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def projected(x, weights):
    """Return query, key and value ``(n, d)`` of all tokens."""
    if "qkv.weight" in weights:
        return np.split(linear(norm(x, weights, "norm"), weights, "qkv"), 3, axis=1)
    return linear(norm(x, weights, "norm"), weights, "q"), *np.split(
        linear(norm(x, weights, "token_norm"), weights, "kv"), 2, axis=1
    )


def attention(query, keys, values):
    """Attend with one head of one token: average the values by the softmax of the scores."""
    scores = [math.exp(sum(query * key) / math.sqrt(len(query))) for key in keys]
    return sum(score * value for score, value in zip(scores, values, strict=True)) / sum(scores)


def step_by_loops(layer, step, x, places, grid, num_heads, read=None):
    """Apply one step to one clip ``(n, d)``, residual included; attention reads ``read`` instead, if given."""
    attn = layer.get_submodule(step.attn)
    weights = {name: parameter.detach().numpy() for name, parameter in attn.named_parameters()}
    q, k, v = projected(x if read is None else read, weights)
    c = x.shape[1] // num_heads
    out = x.copy()
    for n, place in enumerate(places):
        merged = np.zeros(x.shape[1])
        for a in range(num_heads):
            head = slice(a * c, (a + 1) * c)
            sets = step.second_half if step.second_half and a >= num_heads // 2 else step.sets
            copies = sets(place, places, grid)
            for seen in copies:
                merged[head] += attention(q[n, head], k[seen, head], v[seen, head]) / len(copies)
        if not copies:
            continue
        branch = linear(merged, weights, "proj")
        if step.fc:
            fc = layer.get_submodule(step.fc)
            branch = fc.weight.detach().numpy() @ branch + fc.bias.detach().numpy()
        out[n] += branch
    return out


def by_loops(case, layer, x, grid, num_heads):
    clips = []
    for given in x.numpy():
        clip = given
        for step in case.steps:
            clip = step_by_loops(layer, step, clip, case.places(grid), grid, num_heads, given if case.at_once else None)
        clips.append(clip)
    return torch.from_numpy(np.stack(clips))


ON_GRIDS = [(name, grid, HEADS) for name in with_steps() for grid in CASES[name].grids]
OF_HEADS = [(name, Grid(2, 2, 2), heads) for name in with_steps() for heads in (2, 6)]


@pytest.mark.parametrize(("name", "grid", "heads"), ON_GRIDS + OF_HEADS, ids=str)
def test_equals_its_index_sets_written_as_loops(name, grid, heads):
    case = CASES[name]
    layer, x = case.layer(num_heads=heads), case.tokens(grid)
    with torch.no_grad():
        close(layer(x, grid), by_loops(case, layer, x, grid, heads))


@pytest.mark.parametrize("name", CASES)
def test_a_width_that_heads_do_not_divide_is_refused(name):
    with pytest.raises(ValueError, match="dim 10 is not divisible by num_heads 4"):
        CASES[name].factory(10, 4)
