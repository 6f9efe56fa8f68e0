"""Every scheme's attention must be such that a GPU has a fast kernel for it."""

import pytest
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from lit_video.attention import Grid, Mixing, MixingPlan
from tests.attention.scheme_cases import CASES, Case

WIDTH, HEADS, GRID = 128, 2, Grid(4, 2, 4)
SCHEMES = CASES | {
    "mixing_full": Case(lambda width, heads: Mixing(width, heads, MixingPlan(scope="full")), "frame", ()),
    "mixing_summary": Case(lambda width, heads: Mixing(width, heads, MixingPlan(summary=True)), "frame", ()),
}
MASKED = {"sliding_global"}  # the neighbourhood of every patch is another


class Calls(TorchFunctionMode):
    """Arguments of every attention."""

    def __init__(self):
        super().__init__()
        self.inputs, self.masked = [], False

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is F.scaled_dot_product_attention:
            self.inputs.append(args[:3])
            self.masked |= any(isinstance(option, torch.Tensor) for option in (*args[3:], *(kwargs or {}).values()))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", SCHEMES)
def test_flash_attention_could_take_every_call(name):
    """What it asks for: no mask, adjacent channels, 16-byte steps, heads of 8 to 128 channels, no broadcasting."""
    case = SCHEMES[name]
    layer, x = case.layer(heads=HEADS, width=WIDTH).float(), case.tokens(GRID, width=WIDTH).float()
    with Calls() as calls, torch.autocast("cpu", torch.bfloat16):
        layer(x, GRID)
    assert calls.inputs and calls.masked == (name in MASKED)
    for q, k, v in calls.inputs:
        assert q.shape[:2] == k.shape[:2] and k.shape == v.shape and q.ndim == 4
        assert q.shape[-1] == WIDTH // HEADS
        for x in (q, k, v):
            assert x.dtype == torch.bfloat16
            assert x.stride(-1) == 1
            assert all(step % 8 == 0 for step, size in zip(x.stride()[:-1], x.shape, strict=False) if size > 1)
            assert x.storage_offset() % 8 == 0
