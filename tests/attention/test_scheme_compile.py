"""Schemes in other number formats and as compiled and exported programs compute the same."""

import pytest
import torch

from lit_video.attention import Grid
from tests.attention.scheme_cases import CASES, close
from tests.conftest import quick_or_slow


def gentle(layer):
    """Weights of a size that rounding does not blow up."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(0.3)
    return layer


def gradients(call, layer, x, grid):
    layer.zero_grad()
    y = call(x, grid)
    y.square().sum().backward()
    return [y.detach(), *(parameter.grad.clone() for parameter in layer.parameters())]


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-4), (torch.bfloat16, 1e-1)], ids=str
)
@pytest.mark.parametrize("name", CASES)
def test_number_formats_are_kept(name, dtype, tolerance):
    case = CASES[name]
    layer, x = gentle(case.layer()), case.tokens(case.grid)
    with torch.no_grad():
        exact = layer(x, case.grid)
        y = layer.to(dtype)(x.to(dtype), case.grid)
    assert y.dtype == dtype
    close(y.double(), exact, tolerance)


@pytest.mark.parametrize("name", CASES)
def test_autocast_computes_nearly_the_same_and_differentiates(name):
    case = CASES[name]
    layer, x = gentle(case.layer()).float(), case.tokens(case.grid).float()
    exact = gradients(layer, layer, x, case.grid)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = gradients(layer, layer, x, case.grid)
    assert rough[0].dtype == torch.float32 and not torch.equal(rough[0], exact[0])
    for a, b in zip(rough, exact, strict=True):
        assert (a - b).norm() < 0.05 * (b.norm() + 1)


@pytest.mark.parametrize("name", CASES)
def test_exported_program_computes_the_same(name):
    case = CASES[name]
    layer, x = case.layer().eval(), case.tokens(case.grid)
    exported = torch.export.export(layer, (x, case.grid)).module()
    with torch.no_grad():
        close(exported(x, case.grid), layer(x, case.grid))


# joint attention in one step, two steps along axes, channels of other frames, latents between
@pytest.mark.parametrize("name", quick_or_slow(CASES, {"joint", "divided", "mixing", "bottleneck"}))
def test_compiles_into_one_graph_with_the_same_outputs_and_gradients(name):
    case = CASES[name]
    layer, x = case.layer(), case.tokens(case.grid)
    torch.compiler.reset()
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    for a, b in zip(gradients(compiled, layer, x, case.grid), gradients(layer, layer, x, case.grid), strict=True):
        close(a, b, 1e-11)


@pytest.mark.parametrize("name", quick_or_slow(("space", "factorised_heads", "local_1"), {"factorised_heads"}))
def test_a_compiled_scheme_takes_another_grid(name):
    """Few, as the second graph is traced with symbolic sizes, which is slow."""
    case = CASES[name]
    layer = case.layer()
    torch.compiler.reset()
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    with torch.no_grad():
        for grid in (Grid(3, 2, 3), Grid(2, 4, 2)):
            x = case.tokens(grid)
            close(compiled(x, grid), layer(x, grid))
