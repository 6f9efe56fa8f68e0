"""Test the contract of a scheme: every built-in one keeps it, and planted faults are found and described."""

from functools import lru_cache

import pytest
import torch
from torch import nn

from lit_video.attention import (
    Axial,
    Divided,
    Factorised,
    FactorisedHeads,
    Joint,
    LocalGlobal,
    LocalWindow,
    Mixing,
    MixingPlan,
    Parallel,
    Scheme,
    SlidingGlobal,
    Space,
    SpaceBeforeTime,
)
from lit_video.schemes.contract import check_contract as check
from lit_video.schemes.sight import in_words

check_contract = lru_cache(check)


class Plain(Scheme):
    """Attention within each frame; the planted faults derive from it."""

    class_tokens = "frame"

    def __init__(self, width, num_heads):
        super().__init__()
        self.space = Space(width, num_heads)

    def forward(self, x, grid):
        return self.space(x, grid)


def faulty(forward):
    return type("Faulty", (Plain,), {"forward": forward})


class Unused(Plain):
    def __init__(self, width, num_heads):
        super().__init__(width, num_heads)
        self.gate = nn.Parameter(torch.zeros(width))


def remembers(self, x, grid):
    out, self.last = self.space(x, grid) + getattr(self, "last", 0.0) * x.mean(), float(x.detach().mean())
    return out


def makes_a_parameter(self, x, grid):
    if not hasattr(self, "scale"):
        self.scale = nn.Parameter(torch.ones(x.shape[-1], dtype=x.dtype))
    return x + (self.space(x, grid) - x) * self.scale


def leaves_class_tokens(self, x, grid):
    first = torch.arange(x.shape[1]) % (1 + grid.h * grid.w) == 0
    return torch.where(first[:, None], x, self.space(x, grid))


def draws(self, x, grid):
    return x + nn.functional.dropout(self.space(x, grid) - x, 0.5, training=True)


class Leaks(Plain):
    causal = True

    def __init__(self, width, num_heads):
        nn.Module.__init__(self)
        self.space = Mixing(width, num_heads, MixingPlan(window=1))


class NotBuilt(Plain):
    def __init__(self, width, num_heads, window):
        super().__init__(width, num_heads)


FAULTS = [
    ("residual", faulty(lambda self, x, grid: self.space(x, grid) - x)),
    ("gradients of parameters", Unused),
    ("clips of a batch", faulty(lambda self, x, grid: self.space(x + x.mean(0), grid) - x.mean(0))),
    ("input", faulty(lambda self, x, grid: x.add_(self.space(x, grid) - x))),
    ("state", faulty(remembers)),
    ("state", faulty(draws)),
    ("gradient of the tokens", faulty(lambda self, x, grid: x + (self.space(x, grid) - x) * x.detach())),
    ("parameters", faulty(makes_a_parameter)),
    ("causal", Leaks),
    ("frames and sizes", faulty(lambda self, x, grid: self.space(x, grid)[:, : x.shape[1] // 2])),
    ("frames and sizes", faulty(lambda self, x, grid: self.space(x, grid).float())),
    ("frames and sizes", faulty(lambda self, x, grid: self.space(x, grid).unflatten(1, (2, -1)).flatten(1, 2))),
    ("class token", faulty(leaves_class_tokens)),
    ("training", faulty(lambda self, x, grid: self.space(x, grid) + x * self.training)),
    ("built", NotBuilt),
]


def mixing(width, num_heads):
    return Mixing(width, num_heads, MixingPlan())


@pytest.mark.parametrize(
    "kind",
    [
        *(Axial, Divided, Factorised, FactorisedHeads, Joint, LocalGlobal, LocalWindow, mixing, Parallel),
        *(SlidingGlobal, Space, SpaceBeforeTime),
        Plain,
    ],
)
def test_schemes_keep_the_contract(kind):
    contract = check_contract(kind)
    assert not contract.faults
    assert contract.sight


@pytest.mark.parametrize(("fault", "kind"), FAULTS)
def test_a_planted_fault_is_found(fault, kind):
    assert fault in check_contract(kind).faults


def test_a_leak_names_its_frames():
    (fault,) = check_contract(Leaks).faults.values()
    assert "in layer 1 frame 0 depends on frame 1" in fault


# pairs of patches in one layer (8 frames of 16 patches), reach and order
SIGHT = {
    Space: (8 * 16**2, "0 frames", "not seen"),
    Divided: (8**2 * 16**2, "7 frames", "not seen"),
    mixing: (22 * 16**2, "1 frames in one layer, 4 in 4", "seen"),
    LocalWindow: (22 * 16**2, "1 frames in one layer, 4 in 4", "only nearness"),
    FactorisedHeads: (8 * 16 * (16 + 7), "7 frames", "not seen"),
    LocalGlobal: (8**2 * 16**2, "7 frames", "only nearness"),
}


@pytest.mark.parametrize("kind", SIGHT)
def test_sight_of_known_schemes(kind):
    seen = check_contract(kind).sight
    pairs, reach, order = SIGHT[kind]
    assert int(seen.layers[0][seen.patches][:, seen.patches].sum()) == pairs
    words = in_words(seen)
    assert words["reach"].startswith(reach) and words["order"].startswith(order)


def test_causal_mixing_is_causal():
    seen = check_contract(lambda width, heads: Mixing(width, heads, MixingPlan(2, causal=True))).sight
    assert in_words(seen)["causal"].startswith("yes")
    assert int(seen.layers[0][seen.patches][:, seen.patches].sum()) == 21 * 16**2
