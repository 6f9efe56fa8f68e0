"""Contract of an attention scheme: checks of a user's class before training."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd import gradcheck

from lit_video.attention import Grid, Scheme
from lit_video.errors import fault_of
from lit_video.network.timesformer import build_scheme
from lit_video.schemes.sight import Sight, randomised, sight, token_layout

WIDTH = 8
HEADS = 2
DEPTH = 4
GRID = Grid(8, 4, 4)  # grid for measuring sight
# other grids that a scheme may support or refuse; further checks use the first grid that it supports
GRIDS = (Grid(4, 2, 2), Grid(3, 2, 3), Grid(1, 2, 2), Grid(2, 4, 6), Grid(16, 1, 1), Grid(4, 8, 4))
SAME = 1e-9  # tokens that differ by at most this share of the largest value count as equal


@dataclass(frozen=True)
class Contract:
    """Findings by check, supported and refused grids, and the sight if it could be measured."""

    findings: dict[str, str]  # by check: the fault in words; empty if passed
    grids: str = ""
    sight: Sight | None = None

    @property
    def faults(self) -> dict[str, str]:
        """Faults of the failed checks."""
        return {check: fault for check, fault in self.findings.items() if fault}


def check_contract(kind: Callable[..., Scheme]) -> Contract:
    """Check a scheme by running it with random weights in double precision on small clips."""

    def make(layer: int) -> Scheme:
        return build_scheme(kind, WIDTH, HEADS, layer=layer)

    findings: dict[str, str] = {}
    grids = ""
    measured: Sight | None = None
    with torch.random.fork_rng():
        torch.manual_seed(0)
        try:  # runs a user's code
            scheme = make(0)
            refusals = {grid: _serves(scheme, grid) for grid in GRIDS}
            grids = "; ".join(_on_grid(grid, refusal) for grid, refusal in refusals.items())

            # check(grid) may refuse some grids, but not all
            failures = [_on_grid(grid, refusal) for grid, refusal in refusals.items() if refusal.startswith("fails")]
            wrong = "no grid is supported" if all(refusals.values()) else ""
            if failures:
                advice = "check(grid), a classmethod, must raise ValueError for unsupported grids"
                wrong = f"{'; '.join(failures)}; {advice}"
            findings["frames and sizes"] = wrong

            if not wrong:
                supported = [grid for grid, refusal in refusals.items() if not refusal]
                for check, failed, fault in _checks(make, supported[0]):
                    findings[check] = fault if failed else ""

                measured = sight(make, GRID, DEPTH, width=WIDTH)
                findings |= _sight_checks(scheme, measured)
        except Exception as error:
            findings["run" if findings else "built"] = f"fails: {fault_of(error)}"
    return Contract(findings, grids, measured)


def _tokens(scheme: Scheme, grid: Grid, clips: int = 2) -> Tensor:
    return torch.randn(clips, len(token_layout(scheme.class_tokens, grid)[0]), WIDTH, dtype=torch.float64)


def _on_grid(grid: Grid, refusal: str) -> str:
    return f"{grid.t} x {grid.h} x {grid.w} {refusal}".strip()


def _serves(scheme: Scheme, grid: Grid) -> str:
    """Return why a scheme does not support a grid; empty if it does."""
    try:
        scheme.check(grid)
    except ValueError as error:
        return f"refused: {error}"

    x = _tokens(randomised(scheme, 0.3), grid)
    try:
        out = scheme(x.clone(), grid)
    except Exception as error:
        return f"fails: {fault_of(error)}"

    if not isinstance(out, Tensor) or (out.shape, out.dtype) != (x.shape, x.dtype):
        got = f"{tuple(out.shape)}, {out.dtype}" if isinstance(out, Tensor) else type(out).__name__
        return f"fails: tokens {tuple(x.shape)}, {x.dtype}, become {got}"
    return "" if out.isfinite().all() else "fails: tokens are not finite"


def _checks(make: Callable[[int], Scheme], grid: Grid) -> Iterator[tuple[str, bool, str]]:
    """Yield the name of each check, whether it failed, and the fault to report if it did."""
    scheme = randomised(make(0), 0.3)
    num_parameters = len(list(make(0).parameters()))
    x = _tokens(scheme, grid)
    out = scheme(x.clone(), grid)
    late = len(list(scheme.parameters())) != num_parameters
    yield "parameters", late, "forward creates parameters, which no optimizer gets"

    tokens = x.clone()
    scheme(tokens, grid)
    yield "input", not torch.equal(tokens, x), "is overwritten, although other code reads it"

    scheme(_tokens(scheme, grid), grid)
    yield "state", _differ(scheme(x.clone(), grid), out), "a second call with the same tokens gives other tokens"

    alone = torch.cat([scheme(clip[None].clone(), grid) for clip in x])
    yield "clips of a batch", _differ(alone, out), "a clip alone gives other tokens than in a batch"

    (out * torch.randn_like(out)).sum().backward()
    dead = []
    for name, parameter in scheme.named_parameters():
        if parameter.grad is None or not parameter.grad.any():
            dead.append(name)
    yield "gradients of parameters", bool(dead), f"do not reach {', '.join(dead)}"

    weight = torch.randn_like(out[:1])
    small = x[:1].clone().requires_grad_()
    right = gradcheck(lambda z: (scheme(z.clone(), grid) * weight).sum(), small, fast_mode=True, raise_exception=False)
    yield "gradient of the tokens", not right, "differs from finite differences: something is detached"

    training = _differ(scheme.train()(x.clone(), grid), out)
    yield "training", training, "gives other tokens than evaluation; leave drop path to the model"

    for parameter in scheme.eval().parameters():
        torch.nn.init.zeros_(parameter)
    yield "residual", _differ(scheme(x.clone(), grid), x), "with all weights zero, the output is not the input"


def _sight_checks(scheme: Scheme, seen: Sight) -> dict[str, str]:
    findings: dict[str, str] = {}
    tokens = seen.class_tokens
    patches = seen.patches
    if len(tokens):
        missed = int((seen.depths[tokens][:, patches] == 0).all(0).sum())
        findings["class token"] = ""
        if missed:
            unread = f"{missed} of {len(patches)} patches are seen by no class token"
            findings["class token"] = f"{unread}, and never classified"

    if scheme.causal:
        findings["causal"] = ""
        for number in range(1, len(seen.layers) + 1):
            if leaks := seen.later_frames(number):
                findings["causal"] = "in layer {} frame {} depends on frame {}".format(number, *leaks[0])
                break
    return findings


def _differ(first: Tensor, second: Tensor) -> bool:
    return not torch.allclose(first, second, rtol=0, atol=SAME * max(1.0, float(second.detach().abs().max())))
