"""Schemes in other number formats compute the same; networks are compiled and exported in tests/network."""

import pytest
import torch

from tests.attention.scheme_cases import CASES, close


def gentle(layer):
    """Weights of a size that rounding does not blow up."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(0.3)
    return layer


def gradients(layer, x, grid):
    layer.zero_grad()
    y = layer(x, grid)
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
    exact = gradients(layer, x, case.grid)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = gradients(layer, x, case.grid)
    assert rough[0].dtype == torch.float32 and not torch.equal(rough[0], exact[0])
    for a, b in zip(rough, exact, strict=True):
        assert (a - b).norm() < 0.05 * (b.norm() + 1)
