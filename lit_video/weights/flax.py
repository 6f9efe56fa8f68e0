"""Parameters of flax in torch's layouts."""

import re

from torch import Tensor

# flax's names of a layer's parameters -> torch's
LEAVES = {"kernel": "weight", "scale": "weight", "bias": "bias"}


def torch_layout(name: str, value: Tensor) -> Tensor:
    """A parameter of attention or a linear layer: (in, out) to (out, in), heads merged.

    Args:
        name: torch's; projections to query, key and value are called so, those to the output ``proj``.
        value: in flax's layout.
    """
    if re.search(r"\.(query|key|value)\.", name):
        value = value.flatten(-2) if value.ndim > 1 else value
    elif name.endswith(".proj.weight"):
        value = value.flatten(0, 1) if value.ndim > 1 else value
    return value.T.contiguous() if name.endswith(".weight") and value.ndim == 2 else value
