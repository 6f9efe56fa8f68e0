"""Test that an adapter on every linear layer of every network is trained, and acts in training as in a test."""

import pytest
import torch
from torch import nn

from tests.attention.test_layers_are_called import adapt
from tests.network.test_networks_run import NETWORKS, build, clip_of


@pytest.mark.parametrize("name", NETWORKS)
def test_an_adapter_on_every_layer_is_trained_and_acts_in_training_as_in_a_test(name):
    network, clip = build(name, num_frames=8).double(), clip_of(num_frames=8, dtype=torch.float64)
    adapters = adapt(network)
    for part in network.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    trained = network.train()(clip)
    trained.square().sum().backward()
    without = [key for key, adapter in adapters.items() if adapter.up.weight.grad is None]
    assert adapters and not without, "adapters without a gradient"
    torch.testing.assert_close(trained, network.eval()(clip), atol=1e-9, rtol=1e-9)
