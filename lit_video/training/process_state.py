"""State that the whole process shares, which a run changes and gives back."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

CHANGED = ("WANDB_", "PL_")  # beginnings of the environment variables that W&B's record and Lightning's seeds set


@contextmanager
def process_as_before() -> Iterator[None]:
    """Give random generators, products in float32 and environment variables back at the end of a block.

    The program or notebook that calls a function goes on with its own. Generators of GPUs are left as they are: to read
    their states would start a context on every GPU.
    """
    generators = torch.get_rng_state(), np.random.get_state(), random.getstate()
    precision = torch.get_float32_matmul_precision()
    convolutions = torch.backends.cudnn.allow_tf32
    variables = _variables()
    try:
        yield
    finally:
        of_torch, of_numpy, of_python = generators
        torch.set_rng_state(of_torch)
        np.random.set_state(of_numpy)
        random.setstate(of_python)

        torch.set_float32_matmul_precision(precision)
        torch.backends.cudnn.allow_tf32 = convolutions
        for name in _variables().keys() - variables.keys():
            del os.environ[name]
        os.environ.update(variables)


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(CHANGED)}
