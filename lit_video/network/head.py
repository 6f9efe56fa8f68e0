"""Final linear layer of a network, and its inputs: the features of a clip."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from lit_video.network.transformer import VideoTransformer


def linear_head(network: nn.Module) -> nn.Linear:
    """The layer whose output is the logits, but for an average over frames or places.

    Video transformers end in their ``aggregate``, which calls it ``head``; PyTorchVideo's CNNs in a block with ``proj``
    (of places).

    Raises:
        ValueError: the network ends in neither.
    """
    if isinstance(network, VideoTransformer):
        last = getattr(network.aggregate, "head", None)
        last = last[-1] if isinstance(last, nn.Sequential) else last
    else:
        blocks = getattr(network, "blocks", None)
        last = getattr(blocks[-1], "proj", None) if isinstance(blocks, nn.ModuleList) else None
    if not isinstance(last, nn.Linear):
        raise ValueError(f"{type(network).__name__} ends in no linear layer that is known")
    return last


@contextmanager
def head_inputs(network: nn.Module) -> Iterator[list[Tensor]]:
    """Collect the linear head's inputs, ``(b, d)`` for every call of the network.

    Where it enters for each frame or place it is averaged: the head is affine, so its output for the average is the
    average that the network gives. In eval mode, thus, ``features @ weight.T + bias`` are the logits.
    """
    features: list[Tensor] = []

    def keep(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        x = inputs[0].detach()
        features.append(x.flatten(1, -2).mean(1) if x.ndim > 2 else x)

    handle = linear_head(network).register_forward_pre_hook(keep)
    try:
        yield features
    finally:
        handle.remove()
