"""What gradients show of the schemes: who attends whom, and that layers starting at zero learn with every weight."""

import pytest
import torch
from torch.func import functional_call

from lit_video.attention import Grid
from tests.attention.scheme_cases import (
    CASES,
    HEADS,
    WIDTH,
    everything,
    frames_apart,
    frames_before,
    same_frame,
    same_place,
    same_quadrant,
)


def seen(case, layers, grid):
    """For each output token, the set of input tokens with a gradient."""
    x = case.tokens(grid, clips=1).requires_grad_()
    y = x
    for layer in layers:
        y = layer(y, grid)
    outputs = (y * torch.randn_like(y)).sum((0, 2))
    (gradients,) = torch.autograd.grad(outputs, x, torch.eye(len(outputs)).to(y), is_grads_batched=True)
    return [set(row.nonzero().flatten().tolist()) for row in gradients[:, 0].abs().amax(-1) > 1e-12]


def cross(i, j, grid):
    return same_frame(i, j, grid) or same_place(i, j, grid)


@pytest.mark.parametrize(
    ("name", "grid", "one_layer", "two_layers"),
    [
        ("space", Grid(3, 2, 2), same_frame, same_frame),
        ("joint", Grid(3, 2, 2), everything, everything),
        ("local_1", Grid(6, 1, 2), frames_apart(1), frames_apart(2)),
        ("local_2", Grid(7, 1, 2), frames_apart(2), frames_apart(4)),
        ("local_causal", Grid(6, 1, 2), frames_before(2), frames_before(4)),
        ("divided", Grid(3, 2, 2), everything, everything),
        ("axial", Grid(3, 2, 3), everything, everything),
        ("factorised", Grid(3, 2, 2), everything, everything),
        ("factorised_time_first", Grid(3, 2, 2), everything, everything),
        ("factorised_heads", Grid(3, 2, 2), cross, everything),
        ("local_global", Grid(2, 4, 4), everything, everything),
        # so small a quadrant has one kind of row and column, and the class token leads out of it in the second layer
        ("local_global", Grid(4, 2, 2), same_quadrant, everything),
    ],
)
def test_patches_see_what_the_paper_promises(name, grid, one_layer, two_layers):
    check_patches(CASES[name], grid, CASES[name].layer, one_layer, two_layers)


def check_patches(case, grid, build, *promises):
    places = case.places(grid)
    patches = [n for n, place in enumerate(places) if place.is_patch]
    for layers, sees in enumerate(promises, start=1):
        views = seen(case, [build(seed) for seed in range(layers)], grid)
        for n in patches:
            assert views[n] & set(patches) == {j for j in patches if sees(places[n], places[j], grid)}


def without_key_bias(name, tensor):
    """A constant added to all keys cancels in the softmax: the bias of the keys has no gradient."""
    if name.endswith("qkv.bias"):
        query, _, value = tensor.chunk(3)
        return torch.cat((query, value))
    return tensor.chunk(2)[1] if name.endswith("kv.bias") else tensor


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
