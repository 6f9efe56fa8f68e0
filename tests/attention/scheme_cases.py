"""Attention schemes as index sets; a new scheme is one entry of ``CASES``.

For each step of a scheme, the index sets say which tokens a token attends to, in the words of its paper. With several
sets, a token's branch is the mean over them (a class token that is copied into every group); a token without one is
left out of the step.
"""

from collections.abc import Callable
from functools import partial
from itertools import chain, product
from typing import NamedTuple

import torch

from lit_video.attention import (
    Axial,
    Bottleneck,
    Divided,
    Factorised,
    FactorisedHeads,
    Grid,
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

WIDTH, HEADS, LATENTS = 12, 4, 3


class Token(NamedTuple):
    """Position of a token: a frame's class token has a frame only, a clip's class token and a latent have nothing."""

    t: int | None = None
    h: int | None = None
    w: int | None = None

    @property
    def is_patch(self):
        return self.h is not None


Sets = Callable[[Token, list[Token], Grid], list[list[int]]]


class Step(NamedTuple):
    """One attention with its residual: the names of its modules, and the tokens that each token attends to."""

    attn: str
    sets: Sets
    fc: str | None = None
    second_half: Sets | None = None  # index sets of the second half of the heads, if different


class Case(NamedTuple):
    """A scheme, the layout of its tokens, and its steps in order."""

    factory: Callable[[int, int], Scheme]
    layout: str
    steps: tuple[Step, ...]
    even: bool = False
    at_once: bool = False  # all steps read the layer's input

    def layer(self, seed=0, num_heads=HEADS, width=WIDTH):
        """Build the layer in float64, every parameter random."""
        return randomised(self.factory(width, num_heads), seed)

    def tokens(self, grid, clips=2, width=WIDTH):
        torch.manual_seed(1)
        return torch.randn(clips, len(self.places(grid)), width, dtype=torch.float64)

    def places(self, grid):
        """List the positions of a clip's tokens, in order."""
        frames = [[Token(t, h, w) for h, w in product(range(grid.h), range(grid.w))] for t in range(grid.t)]
        if self.layout == "frame":
            return [place for t, frame in enumerate(frames) for place in (Token(t), *frame)]
        return [Token()] * {"clip": 1, "none": 0, "latents": LATENTS}[self.layout] + list(chain(*frames))

    @property
    def grids(self):
        return EVEN_GRIDS if self.even else GRIDS

    @property
    def grid(self):
        """Small grid in which every token has a neighbour along every axis."""
        return Grid(4, 2, 4) if self.even else Grid(3, 2, 3)


class Reading(Scheme):
    """The bottleneck as a scheme: the first tokens, the latents, read the others, which stay unchanged."""

    def __init__(self, width, num_heads):
        super().__init__()
        self.read = Bottleneck(width, num_heads)

    def forward(self, x, grid):
        latents, tokens = x[:, :LATENTS], x[:, LATENTS:]
        return torch.cat((self.read(latents, tokens), tokens), dim=1)


def randomised(layer, seed=0):
    torch.manual_seed(seed)
    for parameter in layer.double().parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return layer


def everything(i, j, grid):
    return True


def same_frame(i, j, grid):
    return i.t == j.t


def same_place(i, j, grid):
    return (i.h, i.w) == (j.h, j.w)


def same_row(i, j, grid):
    return (i.t, i.h) == (j.t, j.h)


def same_column(i, j, grid):
    return (i.t, i.w) == (j.t, j.w)


def same_quadrant(i, j, grid):
    return (2 * i.h < grid.h) == (2 * j.h < grid.h) and (2 * i.w < grid.w) == (2 * j.w < grid.w)


def nearest_half(i, j, grid):
    """Return whether ``j`` is in a window around ``i`` of half the rows and columns, moved inside the grid."""

    def near(a, b, size):
        start = min(max(a - size // 4, 0), size - size // 2)
        return start <= b < start + size // 2

    return near(i.h, j.h, grid.h) and near(i.w, j.w, grid.w)


def even_distance(i, j, grid):
    return all((a - b) % 2 == 0 for a, b in zip(i, j, strict=True))


def frames_apart(window):
    return lambda i, j, grid: abs(i.t - j.t) <= window


def frames_before(window):
    return lambda i, j, grid: 0 <= i.t - j.t <= window


def alike(sees):
    """Let every token attend to the tokens that it sees, class tokens included."""
    return lambda i, places, grid: [[n for n, j in enumerate(places) if sees(i, j, grid)]]


def patches_only(sees):
    """Leave class tokens out, as queries and as keys."""

    def sets(i, places, grid):
        return [[n for n, j in enumerate(places) if j.is_patch and sees(i, j, grid)]] if i.is_patch else []

    return sets


def patches_with_cls(sees):
    """Let every patch attend to the class token too, which itself is left out."""
    patches = patches_only(sees)

    def sets(i, places, grid):
        cls = [n for n, j in enumerate(places) if not j.is_patch]
        return [[*cls, *group] for group in patches(i, places, grid)]

    return sets


def class_copies(sees):
    """Give each group of patches a copy of the class token, which averages over the groups."""
    patches = patches_only(sees)

    def sets(i, places, grid):
        cls = [n for n, j in enumerate(places) if not j.is_patch]
        members = [i] if i.is_patch else [j for j in places if j.is_patch]
        groups = {tuple(group) for member in members for group in patches(member, places, grid)}
        return [[*cls, *group] for group in sorted(groups)]

    return sets


def latents_read(i, places, grid):
    return [] if i.is_patch else [[n for n, j in enumerate(places) if j.is_patch]]


GRIDS = [Grid(3, 2, 5), Grid(1, 1, 1), Grid(5, 1, 3), Grid(1, 3, 2), Grid(4, 2, 2)]
EVEN_GRIDS = [Grid(2, 4, 6), Grid(2, 2, 2), Grid(6, 2, 4), Grid(4, 6, 2)]

IN_TIME, IN_SPACE = Step("time_attn", alike(same_place)), Step("attn", alike(same_frame))
IN_CLIP = Step("attn", alike(everything))
DIVIDED = (Step("time_attn", patches_only(same_place), "time_fc"), Step("attn", class_copies(same_frame)))
EQUATION_11 = (Step("time_attn", patches_with_cls(same_place), "time_fc"), DIVIDED[1])
AXIAL = (DIVIDED[0], Step("row_attn", patches_only(same_row), "row_fc"), Step("attn", class_copies(same_column)))
LOCAL_GLOBAL = (
    Step("local_attn", patches_only(same_quadrant), "local_fc"),
    Step("attn", class_copies(even_distance)),
)
SLIDING_GLOBAL = (Step("local_attn", patches_only(nearest_half), "local_fc"), LOCAL_GLOBAL[1])

# fmt: off
CASES = {
    "space": Case(Space, "frame", (IN_SPACE,)),
    "space_no_cls": Case(Space, "none", (IN_SPACE,)),
    "joint": Case(Joint, "clip", (IN_CLIP,)),
    "joint_no_cls": Case(Joint, "none", (IN_CLIP,)),
    "local_0": Case(partial(LocalWindow, window=0), "frame", (IN_SPACE,)),
    "local_1": Case(LocalWindow, "frame", (Step("attn", alike(frames_apart(1))),)),
    "local_2": Case(partial(LocalWindow, window=2), "none", (Step("attn", alike(frames_apart(2))),)),
    "local_causal": Case(
        partial(LocalWindow, window=2, causal=True), "frame", (Step("attn", alike(frames_before(2))),)
    ),
    "divided": Case(Divided, "clip", DIVIDED),
    "divided_cls_in_time": Case(partial(Divided, cls_in_time=True), "clip", EQUATION_11),
    "space_before_time": Case(SpaceBeforeTime, "clip", DIVIDED[::-1]),
    "parallel": Case(Parallel, "clip", DIVIDED, at_once=True),
    "local_global": Case(LocalGlobal, "clip", LOCAL_GLOBAL, even=True),
    "sliding_global": Case(SlidingGlobal, "clip", SLIDING_GLOBAL, even=True),
    "axial": Case(Axial, "clip", AXIAL),
    "factorised": Case(Factorised, "none", (IN_SPACE, IN_TIME)),
    "factorised_time_first": Case(partial(Factorised, order="time_space"), "none", (IN_TIME, IN_SPACE)),
    "factorised_heads": Case(FactorisedHeads, "none", (Step("attn", alike(same_place), None, alike(same_frame)),)),
    "bottleneck": Case(Reading, "latents", (Step("read", latents_read),)),
    "mixing": Case(partial(Mixing, plan=MixingPlan(ratio=1.0)), "frame", ()),  # equations: test_mixing.py
    "mixing_causal": Case(partial(Mixing, plan=MixingPlan(ratio=1.0, causal=True)), "frame", ()),
}
# fmt: on


def with_steps():
    """Return the names of the cases that have steps."""
    return [name for name, case in CASES.items() if case.steps]


def close(a, b, tolerance=1e-12):
    torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)


def seen(case, layers, grid):
    """Return, for each output token, the set of input tokens with a gradient."""
    x = case.tokens(grid, clips=1).requires_grad_()
    y = x
    for layer in layers:
        y = layer(y, grid)
    outputs = (y * torch.randn_like(y)).sum((0, 2))
    (gradients,) = torch.autograd.grad(outputs, x, torch.eye(len(outputs)).to(y), is_grads_batched=True)
    return [set(row.nonzero().flatten().tolist()) for row in gradients[:, 0].abs().amax(-1) > 1e-12]
