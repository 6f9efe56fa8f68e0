"""Test that (W W_o) y, computed in training on many tokens, equals W (W_o y)."""

import pytest
import torch
from torch import nn

from lit_video.attention import Grid
from tests.attention.scheme_cases import CASES, close

NAMES = ("divided", "divided_cls_in_time", "space_before_time", "parallel", "local_global", "sliding_global", "axial")
MANY = Grid(4, 4, 6)


def results(layer, x, grid):
    x = x.clone().requires_grad_()
    y = layer(x, grid)
    torch.manual_seed(0)
    return y, *torch.autograd.grad((y * torch.randn_like(y)).sum(), [x, *layer.parameters()])


@pytest.mark.parametrize("name", NAMES)
def test_computes_the_same_and_the_same_gradients(name):
    case = CASES[name]
    layer, x = case.layer(), case.tokens(MANY)
    for fused, plain in zip(results(layer.train(), x, MANY), results(layer.eval(), x, MANY), strict=True):
        close(fused, plain, 1e-11)


def test_what_is_dropped_is_dropped_before_the_second():
    case = CASES["divided"]
    layer, x = case.layer().train(), case.tokens(MANY)
    layer.drop_branches(nn.Dropout(1.0))
    with torch.no_grad():
        y = layer(x, MANY)
    close(y[:, 1:], x[:, 1:] + layer.time_fc.bias)
    close(y[:, 0], x[:, 0])
