"""Sight of an attention scheme: which tokens see which, from the derivative of one layer with random weights."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, product
from typing import Literal, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from lit_video.attention import Grid, Scheme

Order = Literal["seen", "near", "blind"]
Make = Callable[[int], Scheme]  # the scheme of a layer, by its number from 0
M = TypeVar("M", bound=nn.Module)
NOTHING = 1e-12  # share of the largest derivative, above rounding in double precision
SPREADS = (0.1, 0.4)  # random weights: with large ones attention chooses a single token


class Place(NamedTuple):
    """Frame, row and column of a token; a class token has no row and column, that of a clip no frame either."""

    t: int | None = None
    h: int | None = None
    w: int | None = None

    @property
    def is_patch(self) -> bool:
        """True unless it is a class token."""
        return self.h is not None


def places(layout: Literal["clip", "frame", "none"], grid: Grid) -> list[Place]:
    """Return the places of a clip's tokens, in their order."""
    cells = list(product(range(grid.h), range(grid.w)))
    if layout == "frame":
        return [place for t in range(grid.t) for place in (Place(t), *(Place(t, *cell) for cell in cells))]
    return [Place()] * (layout == "clip") + [Place(t, *cell) for t in range(grid.t) for cell in cells]


@dataclass(frozen=True)
class Sight:
    """Sight of a scheme on a grid."""

    grid: Grid  # frames, rows, columns
    places: Sequence[Place]  # places of the tokens
    layers: Sequence[Tensor]  # (n, n), bool, for each layer: the output of token i depends on the input of token j
    # seen: the order of frames changes more than the order of outputs; near: any order but the reverse does; blind: no
    # order does
    order: Order

    @cached_property
    def patches(self) -> list[int]:
        """Numbers of the tokens that are patches, by frame and place."""
        return [i for i, place in enumerate(self.places) if place.is_patch]

    @cached_property
    def class_tokens(self) -> list[int]:
        """Numbers of the other tokens."""
        return [i for i, place in enumerate(self.places) if not place.is_patch]

    @cached_property
    def depths(self) -> Tensor:
        """Number of layers after which token i depends on token j, ``(n, n)``; 0 where it never does."""
        known = torch.eye(len(self.places), dtype=torch.bool)
        depths = torch.zeros(known.shape, dtype=torch.long)
        for number, layer in enumerate(self.layers, 1):
            now = (layer.double() @ known.double()) > 0
            depths[now & (depths == 0)] = number
            known = now
        return depths

    def reach(self, layers: int) -> int:
        """Largest distance in frames of two patches of which one sees the other within so many layers."""
        seen = (self.depths > 0) & (self.depths <= layers)
        pairs = [(self.places[i], self.places[j]) for i, j in seen.nonzero().tolist()]
        return max(abs((a.t or 0) - (b.t or 0)) for a, b in pairs if a.is_patch and b.is_patch)

    def later_frames(self, layers: int) -> Iterator[tuple[int, int]]:
        """Frames, and later ones that their tokens depend on within so many layers."""
        for i, j in ((self.depths > 0) & (self.depths <= layers)).nonzero().tolist():
            now, then = self.places[i].t, self.places[j].t
            if now is not None and then is not None and then > now:
                yield now, then


def sight(make: Make, grid: Grid, depth: int, width: int = 8) -> Sight:
    """Measure which tokens see which in each layer; weights are random, so that nothing cancels."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        schemes = [make(i) for i in range(depth)]
        tokens = places(schemes[0].class_tokens, grid)
        x = torch.randn(1, len(tokens), width, dtype=torch.float64)
        found: dict[str, tuple[Tensor, Order]] = {}  # key: a layer's configuration without its parameters
        kinds = [repr([{k: v for k, v in vars(m).items() if k[0] != "_"} for m in one.modules()]) for one in schemes]
        for kind, one in zip(kinds, schemes, strict=True):
            if kind not in found:
                seen = torch.stack([_depends(randomised(one, std), x, grid) for std in SPREADS]).any(0)
                found[kind] = seen, _order(one, x, grid, tokens)
    orders = [order for _, order in found.values()]
    order: Order = "seen" if "seen" in orders else "near" if "near" in orders else "blind"
    return Sight(grid, tokens, [found[kind][0] for kind in kinds], order)


def randomised(scheme: M, std: float) -> M:
    """Draw the parameters of a scheme or network, in double precision and evaluation; none is zero or one."""
    for parameter in scheme.double().eval().parameters():
        nn.init.normal_(parameter, std=std)
    return scheme


def _depends(scheme: Scheme, x: Tensor, grid: Grid) -> Tensor:
    """Return where the derivative of an output token (row) by an input token (column) is not zero, ``(n, n)``."""
    x = x.clone().requires_grad_()
    out = scheme(x.clone(), grid)
    sums = (out * torch.randn_like(out)).sum(-1)[0]
    rows = torch.stack([torch.autograd.grad(each, x, retain_graph=True)[0][0].abs().amax(-1) for each in sums])
    return rows > NOTHING * rows.amax(-1, keepdim=True)


@torch.no_grad()
def _order(scheme: Scheme, x: Tensor, grid: Grid, tokens: Sequence[Place]) -> Order:
    number, out, same = {place: i for i, place in enumerate(tokens)}, scheme(x.clone(), grid), []
    frames = list(range(grid.t))
    for order in (frames[::-1], [*frames[1:], 0], [1, 0, *frames[2:]]):  # reversed, turned, two swapped
        moved = [number[place if place.t is None else place._replace(t=order[place.t])] for place in tokens]
        close = 1e-10 * float(out.abs().max())
        same.append(torch.allclose(scheme(x[:, moved].clone(), grid), out[:, moved], rtol=0, atol=close))
    return "blind" if all(same) else "near" if same[0] else "seen"


def in_words(seen: Sight) -> dict[str, str]:
    """Describe sight in words, by topic."""
    depth = len(seen.layers)
    later = any(seen.later_frames(depth))
    order = {
        "seen": "seen: other orders of the frames give other tokens",
        "near": "only nearness is seen: reversed frames give the same tokens in reverse; positions must tell it",
        "blind": "not seen: frames in any order give the same tokens; positions must tell it",
    }
    return {
        "sees": _patches_in_words(seen),
        "reach": f"{seen.reach(1)} frames in one layer, {seen.reach(depth)} in {depth}, of a clip of {seen.grid.t}",
        "order": order[seen.order],
        "causal": f"{'no' if later else 'yes'}: {'a' if later else 'no'} token of a frame depends on later frames",
        "class token": _class_token_in_words(seen),
    }


def _patches_in_words(seen: Sight) -> str:
    """Say how many patches of a frame a patch sees at most in a layer, by the frame's distance from its own."""
    t, h, w = seen.grid
    union = torch.stack(list(seen.layers)).any(0)
    counts = union[seen.patches][:, seen.patches].view(t, h * w, t, h * w).sum(-1)
    most = {distance: int(counts.diagonal(distance, 0, 2).max()) for distance in range(1 - t, t)}
    parts = []
    for count, run in groupby(most, key=most.__getitem__):
        distances = list(run)
        parts += [f"{count} of {h * w} patches of frames at {distances[0]} to {distances[-1]}"] if count else []
    return "; ".join(parts)


def _class_token_in_words(seen: Sight) -> str:
    tokens, patches = seen.class_tokens, seen.patches
    if not tokens:
        return "none; the mean of all tokens is classified"
    first, share = ((each[tokens][:, patches] > 0).double().mean() for each in (seen.layers[0], seen.depths))
    each = "one per frame" if len(tokens) > 1 else "one"
    return f"{each}; sees {first:.0%} of the patches in one layer, {share:.0%} in {len(seen.layers)}"
