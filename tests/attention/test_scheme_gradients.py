"""Layers that start at zero learn with every weight, and every gradient is the right one."""

import pytest
import torch
from torch.func import functional_call

from lit_video.attention import Grid
from tests.attention.scheme_cases import CASES, HEADS, WIDTH


def without_key_bias(name, tensor):
    """A constant added to all keys cancels in the softmax: the bias of the keys has no gradient."""
    if name.endswith("qkv.bias"):
        query, _, value = tensor.chunk(3)
        return torch.cat((query, value))
    return tensor.chunk(2)[1] if name.endswith("kv.bias") else tensor


@pytest.mark.parametrize("name", ["divided", "local_global", "axial", "factorised", "factorised_time_first"])
def test_a_new_layer_has_zeros_at_the_end_of_each_added_step(name):
    layer = CASES[name].factory(WIDTH, 4)
    zero = {key for key, parameter in layer.named_parameters() if "norm" not in key and not parameter.any()}
    last = [step.fc for step in CASES[name].steps if step.fc] or ["time_attn.proj"]
    assert zero == {f"{linear}.{part}" for linear in last for part in ("weight", "bias")}


@pytest.mark.parametrize("name", CASES)
def test_a_new_layer_learns_with_all_it_has(name):
    """The second step moves what lies before a layer that starts at zero."""
    case = CASES[name]
    torch.manual_seed(0)
    layer, x = case.factory(WIDTH, HEADS).double(), case.tokens(case.grid)
    start = {key: parameter.detach().clone() for key, parameter in layer.named_parameters()}
    target = torch.randn_like(x)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    losses = []
    for _ in range(4):
        loss = (layer(x, case.grid) - target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    change = {key: without_key_bias(key, parameter - start[key]) for key, parameter in layer.named_parameters()}
    assert [key for key, moved in change.items() if moved.abs().max() < 1e-8] == []


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_tokens_and_of_every_parameter(name):
    case, grid = CASES[name], Grid(2, 2, 2)
    layer, x = case.layer(heads=2, width=4), case.tokens(grid, clips=1, width=4).requires_grad_()
    names, parameters = zip(*layer.named_parameters(), strict=True)

    def call(tokens, *values):
        return functional_call(layer, dict(zip(names, values, strict=True)), (tokens, grid))

    assert torch.autograd.gradcheck(call, (x, *parameters))
