"""Test that adapters, hooks and parametrisations of every linear layer act in training as they do in a test."""

import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook
from torch.nn.utils import parametrizations, prune

from lit_video.attention import Grid
from tests.attention.scheme_cases import CASES, close

MANY = Grid(4, 4, 6)  # more tokens than channels: training takes the shortcut through two layers


class Adapter(nn.Module):
    """A low-rank update beside a frozen layer, with the layer's weight and bias, like PEFT's LoRA."""

    def __init__(self, base):
        super().__init__()
        self.base_layer = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, 2, bias=False, dtype=base.weight.dtype)
        self.up = nn.Linear(2, base.out_features, bias=False, dtype=base.weight.dtype)

    @property
    def weight(self):
        return self.base_layer.weight

    @property
    def bias(self):
        return self.base_layer.bias

    def forward(self, x):
        return self.base_layer(x) + self.up(self.down(x))


class Doubled(nn.Linear):
    """A linear layer of a user's own class."""

    def forward(self, x):
        return 2 * super().forward(x)


class Scaled(torch.Tensor):
    """A tensor that multiplies like another one, as quantised weights do."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        values = [arg.as_subclass(torch.Tensor) if isinstance(arg, cls) else arg for arg in args]
        if function is nn.functional.linear:
            values[1] = 2 * values[1]
        return function(*values, **kwargs or {})


def linear_layers(network):
    return {name: part for name, part in network.named_modules() if isinstance(part, nn.Linear)}


def adapt(network):
    """Put an adapter on every linear layer; return the adapters."""
    adapters = {name: Adapter(layer) for name, layer in linear_layers(network).items()}
    for name, adapter in adapters.items():
        network.set_submodule(name, adapter)
    return adapters


def weight_norm(layer):
    parametrizations.weight_norm(layer)
    with torch.no_grad():
        layer.parametrizations.weight.original0 *= 2


def doubled(layer):
    layer.__class__ = Doubled


def scaled(layer):
    weight = layer.weight.detach().as_subclass(Scaled)
    del layer.weight
    layer.weight = weight


CHANGES = {
    "forward hook": lambda layer: layer.register_forward_hook(lambda layer, x, y: 2 * y),
    "pre-hook": lambda layer: layer.register_forward_pre_hook(lambda layer, x: (2 * x[0],)),
    "pruning": lambda layer: prune.random_unstructured(layer, "weight", amount=0.5),
    "weight_norm": weight_norm,
    "own class": doubled,
    "own forward": lambda layer: vars(layer).update(forward=lambda x: 2 * nn.functional.linear(x, layer.weight)),
    "own tensor": scaled,
    "no bias": lambda layer: setattr(layer, "bias", None),
}


@pytest.mark.parametrize("name", CASES)
def test_an_adapter_on_every_layer_is_trained_and_acts_in_training_as_in_a_test(name):
    layer, x = CASES[name].layer(), CASES[name].tokens(MANY)
    adapters = adapt(layer)
    assert adapters
    trained = layer.train()(x, MANY)
    trained.square().sum().backward()
    without = [key for key, adapter in adapters.items() if adapter.up.weight.grad is None]
    assert not without, "adapters without a gradient"
    close(trained, layer.eval()(x, MANY), 1e-11)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["divided", "local_global", "sliding_global", "axial"])
def test_a_changed_layer_acts_in_training_as_in_a_test(name, change):
    layer, x = CASES[name].layer(), CASES[name].tokens(MANY)
    before = layer(x, MANY)
    for part in linear_layers(layer).values():
        CHANGES[change](part)
    y = layer.eval()(x, MANY)
    assert not torch.allclose(y, before)
    close(layer.train()(x, MANY), y, 1e-11)


@pytest.mark.parametrize("name", CASES)
def test_hooks_see_every_linear_layer_and_its_own_output(name):
    layer, x = CASES[name].layer().train(), CASES[name].tokens(MANY)
    seen = {}

    def keep(part, inputs, output):
        if isinstance(part, nn.Linear):
            seen[part] = output, nn.functional.linear(inputs[0], part.weight, part.bias)

    handle = register_module_forward_hook(keep)
    try:
        layer(x, MANY)
    finally:
        handle.remove()
    assert seen.keys() == set(linear_layers(layer).values())
    for output, expected in seen.values():
        close(output, expected)
