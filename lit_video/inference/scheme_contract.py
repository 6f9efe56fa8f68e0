"""Contract of an attention scheme: checks of a class of one's own before anything is trained with it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd import gradcheck

from lit_video.attention import Grid, Scheme
from lit_video.attention.own import build_scheme
from lit_video.inference.scheme_sight import Sight, places, randomised, sight

WIDTH, HEADS, DEPTH = 8, 2, 4
GRID = Grid(8, 4, 4)  # on which sight is measured
# clips of other lengths and sizes; the first that a scheme serves is the one of the other checks
GRIDS = (Grid(4, 2, 2), Grid(3, 2, 3), Grid(1, 2, 2), Grid(2, 4, 6), Grid(16, 1, 1), Grid(4, 8, 4))
SAME = 1e-9  # of the size of the tokens, in double precision


@dataclass(frozen=True)
class Finding:
    """A check, whether it holds, and in words what was found."""

    check: str
    holds: bool
    words: str


@dataclass(frozen=True)
class Contract:
    """All findings, and the sight of the scheme, which is ``None`` where it could not be measured."""

    findings: list[Finding]
    sight: Sight | None

    @property
    def faults(self) -> list[Finding]:
        """The findings that do not hold."""
        return [one for one in self.findings if not one.holds]


def check_contract(kind: Callable[..., Scheme]) -> Contract:
    """Check a scheme by running it with random weights in double precision on small clips."""

    def make(layer: int) -> Scheme:
        return build_scheme(kind, WIDTH, HEADS, layer)

    with torch.random.fork_rng():
        torch.manual_seed(0)
        try:
            scheme = make(0)
        except Exception as error:  # of anybody's code
            return Contract([Finding("built", False, f"{kind.__name__}({WIDTH}, {HEADS}) fails: {_line(error)}")], None)
        served = {grid: _serves(scheme, grid) for grid in GRIDS}
        sizes = _sizes(served)
        grid = next((grid for grid, error in served.items() if not error), None)
        if grid is None or not sizes.holds:
            return Contract([sizes], None)
        findings = [sizes]
        try:
            findings.extend(_checks(make, grid))
        except Exception as error:
            findings.append(Finding("run", False, f"fails: {_line(error)}"))
    try:
        seen = sight(make, GRID, DEPTH, WIDTH)
    except Exception as error:
        return Contract(
            [*findings, Finding("sight", False, f"cannot be measured on {_on(GRID)}: {_line(error)}")], None
        )
    return Contract([*findings, *_sight_checks(scheme, seen)], seen)


def _tokens(scheme: Scheme, grid: Grid, clips: int = 2) -> Tensor:
    return torch.randn(clips, len(places(scheme.class_tokens, grid)), WIDTH, dtype=torch.float64)


def _serves(scheme: Scheme, grid: Grid) -> str:
    """Why a scheme does not serve a grid; empty if it does."""
    try:
        scheme.check(grid)
    except ValueError as error:
        return f"refused: {error}"
    x = _tokens(randomised(scheme, 0.3), grid)
    try:
        out = scheme(x.clone(), grid)
    except Exception as error:
        return f"fails: {_line(error)}"
    if not isinstance(out, Tensor) or out.shape != x.shape:
        return f"fails: tokens {tuple(x.shape)} become {tuple(getattr(out, 'shape', ())) or type(out).__name__}"
    if out.dtype != x.dtype:
        return f"fails: tokens of {x.dtype} become {out.dtype}"
    return "" if out.isfinite().all() else "fails: tokens are not finite"


def _sizes(served: dict[Grid, str]) -> Finding:
    """Grids that are served, refused by ``check``, or fail."""
    good = [_on(grid) for grid, error in served.items() if not error]
    bad = [f"{_on(grid)} {error}" for grid, error in served.items() if error]
    fails = any(error.startswith("fails") for error in served.values())
    hint = "; a grid that cannot be served is refused by a classmethod check(grid) with a ValueError" if fails else ""
    words = "; ".join(filter(None, [f"serves {', '.join(good)}" if good else "serves no grid", *bad])) + hint
    return Finding("frames and sizes", bool(good) and not fails, f"{words} (frames x rows x columns)")


def _on(grid: Grid) -> str:
    return " x ".join(map(str, grid))


def _checks(make: Callable[[int], Scheme], grid: Grid) -> Iterator[Finding]:
    scheme, before = randomised(make(0), 0.3), len(list(make(0).parameters()))
    x = _tokens(scheme, grid)
    out = scheme(x.clone(), grid)
    yield _found(
        "parameters",
        len(list(scheme.parameters())) == before,
        "all are made by the constructor",
        "forward makes some, which no optimizer gets",
    )
    given = x.clone()
    scheme(given, grid)
    yield _found("input", torch.equal(given, x), "stays as it is", "is overwritten: the residual of others reads it")
    other = _tokens(scheme, grid)
    scheme(other, grid)
    yield _found(
        "state",
        _same(scheme(x.clone(), grid), out),
        "no call depends on another, or on chance",
        "a second call with the same tokens gives others: it draws, or keeps something",
    )
    alone = torch.cat([scheme(clip[None].clone(), grid) for clip in x])
    yield _found(
        "clips of a batch",
        _same(alone, out),
        "do not see each other",
        "see each other: a clip alone gives other tokens than beside another",
    )
    yield from _gradients(scheme, x, grid)
    yield _residual(make(0), x, grid)
    training = scheme.train()(x.clone(), grid)
    yield _found(
        "training",
        _same(training, out),
        "computes the same as evaluation",
        "computes something else than evaluation, which stochastic depth (drop_path) must do alone",
    )


def _gradients(scheme: Scheme, x: Tensor, grid: Grid) -> Iterator[Finding]:
    out = scheme(x.clone(), grid)
    (out * torch.randn_like(out)).sum().backward()
    dead = [name for name, one in scheme.named_parameters() if one.grad is None or not one.grad.any()]
    yield _found("gradients of parameters", not dead, "reach every one", f"do not reach {', '.join(dead)}")
    small = x[:1].clone().requires_grad_()
    direction = torch.randn_like(out[:1])

    def weighted(tokens: Tensor) -> Tensor:
        return (scheme(tokens.clone(), grid) * direction).sum()

    right = gradcheck(weighted, small, fast_mode=True, raise_exception=False)
    yield _found(
        "gradient of the tokens",
        right,
        "equals finite differences",
        "is not that of finite differences: something is detached, rounded, or cut off",
    )


def _residual(scheme: Scheme, x: Tensor, grid: Grid) -> Finding:
    """A scheme whose parameters are all zero passes its tokens on."""
    for parameter in scheme.double().eval().parameters():
        torch.nn.init.zeros_(parameter)
    return _found(
        "residual",
        _same(scheme(x.clone(), grid), x),
        "included: with all weights zero tokens pass",
        "missing: with all weights zero the tokens do not pass as they are",
    )


def _sight_checks(scheme: Scheme, seen: Sight) -> Iterator[Finding]:
    tokens = [i for i, place in enumerate(seen.places) if not place.is_patch]
    patches = [i for i, place in enumerate(seen.places) if place.is_patch]
    if tokens:
        missed = int((seen.depths[tokens][:, patches] == 0).all(0).sum())
        yield _found(
            "class token",
            not missed,
            "every patch is seen by one",
            f"{missed} of {len(patches)} patches are seen by none, so the classifier never reads them",
        )
    if scheme.causal:
        leak = _leak(seen)
        yield _found("causal", not leak, "no token depends on a later frame", leak)


def _leak(seen: Sight) -> str:
    """First layer in which a token of a frame depends on a later one, and the two frames."""
    for layer in range(1, len(seen.layers) + 1):
        for now, then in seen.later_frames(layer):
            return f"claimed, but in layer {layer} frame {now} depends on frame {then}"
    return ""


def _found(check: str, holds: bool, good: str, bad: str) -> Finding:
    return Finding(check, holds, good if holds else bad)


def _same(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=0, atol=SAME * max(1.0, float(other.detach().abs().max())))


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
