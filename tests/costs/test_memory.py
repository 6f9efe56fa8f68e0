"""Memory of training: the sums by hand, and the count of activations against a network small enough to write down."""

import pytest
import torch
from torch import nn

from lit_video.costs.activations import training_pass
from lit_video.costs.memory import Footprint
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize

FOOTPRINT = Footprint(parameters=1000, block=100, blocks=10, kept=2000, clip=5000, inputs=300)


def test_states():
    assert FOOTPRINT.ddp() == 16 * 1000 + 2000
    assert FOOTPRINT.fsdp(8) == 12 * 1000 // 8 + 16 * 100 + 2000


def test_clips_that_fit():
    assert FOOTPRINT.clips(18000, 18000 + 14999) == 2
    assert FOOTPRINT.clips(18000, 20000) == FOOTPRINT.clips(18000, 10000) == 0
    assert FOOTPRINT.checkpointed() == 300 + 500
    assert FOOTPRINT.clips(18000, 18000 + 2400, checkpointing=True) == 3


class Small(nn.Module):
    """A linear layer and a GELU: autograd keeps the input of each."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 16)

    def forward(self, x):
        return nn.functional.gelu(self.layer(x))


@pytest.mark.parametrize("batch", [2, 4])
def test_saved_bytes_of_two_layers(batch):
    counted = training_pass(Small(), (batch, 8), bfloat16=False)
    assert counted.saved == 4 * batch * (8 + 16)
    assert counted.inputs == 0


def test_bfloat16_keeps_the_input_and_a_copy_of_the_weights_in_half_the_bytes():
    counted = training_pass(Small(), (2, 8), bfloat16=True)
    # the copy of the input and the layer's output; that of the weights is needed for the input's gradient only
    assert counted.saved == 2 * 2 * (8 + 16)


def test_activations_of_a_network_grow_with_the_batch_alone():
    with torch.device("meta"):
        network = XViT(5, 4, 32, ViTSize(16, 2, 2), patch=16).network
    one, two, three = (training_pass(network, (b, 3, 4, 32, 32), bfloat16=False) for b in (1, 2, 3))
    assert two.saved - one.saved == three.saved - two.saved > one.inputs
    assert one.inputs == 2 * 4 * 5 * 16 * 4  # layers x frames x (class token and 4 patches) x width x bytes
    assert one.operators == pytest.approx(two.operators, rel=0.05)
