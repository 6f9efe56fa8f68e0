"""Input of a network's last layer: the features that its classifier reads."""

from collections.abc import Callable

from torch import Tensor, nn

from lit_video.errors import UserError
from lit_video.network.aggregation import keeping_inputs

LAYERS = (nn.Linear, nn.Conv3d)


def last_layer(network: nn.Module, name: str) -> nn.Module:
    """Return the last linear or convolution layer of a network, in the order in which its parts are defined."""
    layers = [module for module in network.modules() if isinstance(module, LAYERS)]
    if not layers:
        raise UserError(f"{name} has no linear layer at its end; give a function from clips to features")
    return layers[-1]


def reading_inputs(network: nn.Module, layer: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return a function from clips to a layer's input, averaged over all axes but the batch and the channels."""

    def read(clip: Tensor) -> Tensor:
        twin, inputs = keeping_inputs(network, layer)
        twin(clip)
        return inputs[-1]

    return read
