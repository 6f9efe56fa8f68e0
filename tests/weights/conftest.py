"""What tests against other programs share."""

import pytest
import torch


@pytest.fixture
def in_float64():
    """Networks are built in float64."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def double(state_dict):
    return {key: value.double() for key, value in state_dict.items()}
