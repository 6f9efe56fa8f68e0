"""Two linear layers in a row are one: in training of many tokens (W W_o) y is computed, not W (W_o y)."""

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from lit_video.attention import Grid
from tests.attention.scheme_cases import CASES, WIDTH, close

NAMES = ("divided", "divided_cls_in_time", "space_before_time", "parallel", "local_global", "sliding_global", "axial")
MANY, FEW = Grid(4, 4, 6), Grid(2, 2, 2)


def flops(layer, x, grid):
    with FlopCounterMode(display=False) as counter:
        layer(x, grid)
    return counter.get_total_flops()


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


@pytest.mark.parametrize("name", [name for name in NAMES if name != "divided_cls_in_time"])
def test_costs_less_in_training_and_nothing_else_in_evaluation(name):
    case = CASES[name]
    layer, x = case.layer(), case.tokens(MANY)
    tokens = x.shape[0] * MANY.t * MANY.h * MANY.w
    made = WIDTH + 1  # the product of the weights, and that of a weight and a bias
    saved = 2 * WIDTH**2 * (tokens - made) * (2 if name == "axial" else 1)
    assert flops(layer.eval(), x, MANY) - flops(layer.train(), x, MANY) == saved
    few = case.tokens(FEW, clips=1)
    assert flops(layer.train(), few, FEW) == flops(layer.eval(), few, FEW)


def test_what_is_dropped_is_dropped_before_the_second():
    case = CASES["divided"]
    layer, x = case.layer().train(), case.tokens(MANY)
    layer.drop_branches(nn.Dropout(1.0))
    with torch.no_grad():
        y = layer(x, MANY)
    close(y[:, 1:], x[:, 1:] + layer.time_fc.bias)
    close(y[:, 0], x[:, 0])
