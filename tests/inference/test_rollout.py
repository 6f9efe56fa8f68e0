"""Test attention rollout against loops over index sets and channels, and against gradients."""

import math
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from einops import rearrange

from lit_video.attention import Grid, Mixing, MixingPlan
from lit_video.attention.token_learner import TokenLearner
from lit_video.inference.rollout import Recording, rollout, route
from lit_video.modules import XViT
from tests.attention.scheme_cases import CASES, close, randomised, seen, with_steps
from tests.attention.test_mixing import PLANS, WIDTH, offset_of
from tests.attention.test_scheme_oracles import linear, norm, projected, step_by_loops

HEADS = 2
# plans that the loops below cover: values are mixed, queries and the input are not
MIXINGS = {name: plan for name, plan in PLANS.items() if "value" in plan.mixed and not {"x", "query"} & {*plan.mixed}}
MIXINGS |= {"segments": MixingPlan(segment=2, ratio=1.0), "no_channel": MixingPlan(ratio=0.0)}


def rows(layers, x, grid):
    """Return the rollout of a stack of schemes, ``(n, n)``: the share of each input token in each output token."""
    stack = Stack(layers)
    with torch.no_grad(), Recording() as recording:
        stack(x, grid)
    ones = torch.ones_like(x).requires_grad_()
    y = route(stack, recording.weights, ones, grid)
    close(y, torch.ones_like(y))
    (shares,) = torch.autograd.grad(y.mean((0, 2)), ones, torch.eye(y.shape[1]).to(y), is_grads_batched=True)
    return shares[:, 0].sum(-1)


class Stack(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x, grid):
        for layer in self.layers:
            x = layer(x, grid)
        return x


def softmax(query, keys):
    scores = np.array([math.exp(sum(query * key) / math.sqrt(len(query))) for key in keys])
    return scores / scores.sum()


def weighted(matrix, attends):
    """Return I + A with rows scaled to a sum of one, where A is zero for tokens that do not attend."""
    matrix = np.where(attends[:, None], matrix, 0) + np.eye(len(matrix))
    return matrix / matrix.sum(1, keepdims=True)


def by_loops(case, layers, x, grid, num_heads):
    """Return the product over the steps, from the index sets; ``x (n, d)``."""
    places, shares = case.places(grid), np.eye(len(x))
    for layer in layers:
        given, together = x, []
        for step in case.steps:
            weights = {name: p.detach().numpy() for name, p in layer.get_submodule(step.attn).named_parameters()}
            read = given if case.at_once else x
            q, k, _ = projected(read, weights)
            c = x.shape[1] // num_heads
            matrix, attends = np.zeros((len(x), len(x))), np.zeros(len(x), bool)
            for (n, place), a in product(enumerate(places), range(num_heads)):
                head = slice(a * c, (a + 1) * c)
                sets = step.second_half if step.second_half and a >= num_heads // 2 else step.sets
                copies = sets(place, places, grid)
                for group in copies:
                    matrix[n, group] += softmax(q[n, head], k[group, head]) / len(copies) / num_heads
                    attends[n] = True
            together = [*together, (matrix, attends)] if case.at_once else [(matrix, attends)]
            if not case.at_once or step is case.steps[-1]:
                counts = np.sum([attends for _, attends in together], axis=0)
                mean = sum(matrix for matrix, _ in together) / np.maximum(counts, 1)[:, None]
                shares = weighted(mean, counts > 0) @ shares
            x = step_by_loops(layer, step, x, places, grid, num_heads, read)
    return shares


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("name", with_steps())
def test_equals_the_product_over_index_sets_written_as_loops(name, layers):
    case = CASES[name]
    grid = Grid(2, 2, 2) if layers == 2 else case.grid
    stack, x = [case.layer(seed) for seed in range(layers)], case.tokens(grid, clips=1)
    shares = rows(stack, x, grid)
    close(shares, torch.from_numpy(by_loops(case, stack, x[0].numpy(), grid, 4)))
    assert shares.min() >= 0
    close(shares.sum(1), torch.ones(len(shares), dtype=shares.dtype))
    assert (shares - torch.eye(len(shares))).abs().max() > 0.1


# mixing: a head reads a share of its channels from each frame


def mixing_by_loops(layer, x, grid):
    """Return the rollout of one layer for ``x (t * m, d)``; each frame's class token comes before its patches."""
    plan, weights = layer.plan, {name: p.detach().numpy() for name, p in layer.attn.named_parameters()}
    q, k, _ = projected(x, weights)
    t, m, c = grid.t, 1 + grid.h * grid.w, WIDTH // HEADS
    segment = plan.segment or t
    first = 1 - plan.cls_in_summary
    averaged = x if plan.summary_before_norm else norm(x, weights, "norm")
    means = np.stack([averaged[j * m + first : (j + 1) * m].mean(0) for j in range(t)])
    if plan.summary_before_norm:
        means = norm(means, weights, "norm")
    extra = np.split(linear(means, weights, "qkv"), 3, axis=1)[1]
    matrix = np.zeros((t * m, t * m))
    for frame, a in product(range(t), range(HEADS)):
        group = WIDTH if plan.scope == "full" else c
        source = [frame + offset_of(channel % group, group, plan) for channel in range(a * c, (a + 1) * c)]
        source = [j if 0 <= j < t and j // segment == frame // segment else None for j in source]
        summaries = {True: list(range(t)), "own": [frame], False: []}[plan.summary]
        keys = np.zeros((m + len(summaries), c))
        for place, i in product(range(m), range(c)):
            # keys that are not mixed are the frame's own
            j = source[i] if "key" in plan.mixed else frame
            keys[place, i] = 0 if j is None else k[j * m + place, a * c + i]
        keys[m:] = extra[summaries, a * c : (a + 1) * c]
        for place in range(m):
            n = frame * m + place
            shares = softmax(q[n, a * c : (a + 1) * c], keys)
            for other, j in product(range(m), source):
                if j is not None:
                    matrix[n, j * m + other] += shares[other] / c / HEADS
            for share, j in zip(shares[m:], summaries, strict=True):
                matrix[n, j * m + first : (j + 1) * m] += share / (m - first) / HEADS
    return weighted(matrix, np.ones(t * m, bool))


def mixing_case(plan):
    torch.manual_seed(1)
    grid = Grid(6, 1, 2)
    layers = [randomised(Mixing(WIDTH, HEADS, plan), seed) for seed in (0, 1)]
    return layers, torch.randn(1, 18, WIDTH, dtype=torch.float64), grid


@pytest.mark.parametrize("name", MIXINGS)
def test_mixing_equals_loops_over_channels(name):
    layers, x, grid = mixing_case(MIXINGS[name])
    with torch.no_grad():
        middle = layers[0](x, grid)
    first = mixing_by_loops(layers[0], x[0].numpy(), grid)
    second = mixing_by_loops(layers[1], middle[0].numpy(), grid)
    close(rows(layers[:1], x, grid), torch.from_numpy(first))
    shares = rows(layers, x, grid)
    close(shares, torch.from_numpy(second @ first))
    assert shares.min() >= 0
    close(shares.sum(1), torch.ones(18, dtype=torch.float64))


def test_mixing_of_the_input_reaches_what_gradients_reach():
    stack, x, grid = mixing_case(MixingPlan(mixed=("x",)))
    case = SimpleNamespace(tokens=lambda grid, clips: x)
    reached = [set(row.nonzero().flatten().tolist()) for row in rows(stack[:1], x, grid) > 1e-12]
    assert reached == seen(case, stack[:1], grid)


# a scheme's own calls: masks and scales, and weights outside the fused attention

Q, K, V = torch.randn(3, 1, 2, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).unbind()
SEEN = torch.eye(5, dtype=torch.bool) | (torch.arange(5) < 2)
SEEN[3] = False
CALLS = {
    "mask by place": ((Q, K, V, SEEN), {}),
    "mask by name": ((Q, K, V), {"attn_mask": SEEN}),
    "bias by name": ((Q, K, V), {"attn_mask": SEEN.double()}),
    "causal": ((Q, K, V), {"is_causal": True}),
    "causal with more keys": ((Q[:, :, :3], K, V), {"is_causal": True}),
    "scale": ((Q, K, V), {"scale": 2.0}),
    "all by name": ((), {"query": Q, "key": K, "value": V, "attn_mask": SEEN, "scale": 0.1}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_attention_is_recorded_with_all_its_arguments(name):
    places, names = CALLS[name]
    expected = F.scaled_dot_product_attention(*places, **names)
    with Recording() as recording:
        out = F.scaled_dot_product_attention(*places, **names)
    close(out, expected)
    (weights,) = recording.weights
    close(weights @ V, expected)


@pytest.mark.parametrize("name", ["dropout_p", "enable_gqa"])
def test_a_call_that_is_not_followed_is_refused_by_the_arguments_name(name):
    with pytest.raises(ValueError, match=name), Recording():
        F.scaled_dot_product_attention(Q, K, V, **{name: True})


def test_attention_inside_a_layer_of_torch_is_refused():
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(1, 3, 8)
    with pytest.raises(ValueError, match="MultiheadAttention"), Recording():
        layer(x, x, x)


def test_token_learner_shares_by_what_it_learned():
    """Compare with the matrices of its two maps and of its attention, of which each head has half of the channels."""
    layer, grid = randomised(TokenLearner(WIDTH, HEADS), 1), Grid(2, 2, 2)
    x = torch.randn(1, 9, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    normed = rearrange(layer.norm(x[:, 1:]), "1 (t s) d -> t s d", t=2)
    learnt, fused = layer.learn(normed).softmax(1).detach(), layer.fuse(normed).sigmoid().detach()
    with torch.no_grad(), Recording() as recording:
        layer(x, grid)
    (attention,) = [weights[0].mean(0) for weights in recording.weights if weights.shape[-2:] == (9, 9)]

    tokens = torch.block_diag(torch.ones(1, 1), *learnt.mT).to(x)  # class and learnt tokens of all tokens
    patches = torch.block_diag(torch.ones(1, 1), *fused).to(x)
    matrix = patches @ attention @ tokens + torch.eye(9, dtype=x.dtype)
    shares = rows([layer], x, grid)
    close(shares, matrix / matrix.sum(1, keepdim=True))
    assert shares[0, 1:5].std() > 1e-3


def test_a_probe_of_waves_gives_every_frame_the_weight_that_its_place_does_not_change():
    clip = torch.randn(1, 3, 4, 16, 16, dtype=torch.float64)
    facts = dict(num_frames=4, image_size=16, patch_size=8, size=dict(embed_dim=16, depth=2, num_heads=2))
    probed = XViT(3, **facts, window=0, ta_layers=0, positions="space", probe="waves").double().eval()
    state = torch.get_rng_state()
    shares = rollout(probed.network, clip)
    assert torch.equal(torch.get_rng_state(), state)
    close(shares.logits, probed.network(clip))
    assert shares.patches.min() >= 0
    assert math.isclose(float(shares.patches.sum()) + shares.other, 1, rel_tol=1e-6)
    close(rollout(probed.network, clip.flip(2)).patches, shares.patches.flip(0))
