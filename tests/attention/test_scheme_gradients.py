"""Test that added steps start at zero and that gradients are right."""

import pytest
import torch
from torch.func import functional_call

from lit_video.attention import Grid
from tests.attention.scheme_cases import CASES, WIDTH

ADDED = ("divided", "space_before_time", "parallel", "local_global", "axial", "factorised", "factorised_time_first")


@pytest.mark.parametrize("name", ADDED)
def test_a_new_layer_has_zeros_at_the_end_of_each_added_step(name):
    layer = CASES[name].factory(WIDTH, 4)
    zero = {key for key, parameter in layer.named_parameters() if "norm" not in key and not parameter.any()}
    last = [step.fc for step in CASES[name].steps if step.fc] or ["time_attn.proj"]
    assert zero == {f"{linear}.{part}" for linear in last for part in ("weight", "bias")}


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_tokens_and_of_every_parameter(name):
    case, grid = CASES[name], Grid(2, 2, 2)
    layer, x = case.layer(num_heads=2, width=4), case.tokens(grid, clips=1, width=4).requires_grad_()
    names, parameters = zip(*layer.named_parameters(), strict=True)

    def call(tokens, *values):
        return functional_call(layer, dict(zip(names, values, strict=True)), (tokens, grid))

    assert torch.autograd.gradcheck(call, (x, *parameters), fast_mode=True)  # of a random direction
