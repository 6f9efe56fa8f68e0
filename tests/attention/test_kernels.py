"""Test that a fast GPU kernel can run every scheme's attention."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

from lit_video.attention import Grid, Mixing, MixingPlan
from tests.attention.scheme_cases import CASES, Case

WIDTH, HEADS, GRID = 128, 2, Grid(4, 2, 4)
SCHEMES = CASES | {
    "mixing_full": Case(lambda width, heads: Mixing(width, heads, MixingPlan(scope="full")), "frame", ()),
    "mixing_summary": Case(lambda width, heads: Mixing(width, heads, MixingPlan(summary=True)), "frame", ()),
}
MASKED = {"sliding_global"}  # every patch has a neighbourhood of its own


class Calls(TorchFunctionMode):
    """Recorder of the inputs of every attention, and of masks."""

    def __init__(self):
        super().__init__()
        self.inputs, self.masked = [], False

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is F.scaled_dot_product_attention:
            self.inputs.append(args[:3])
            self.masked |= any(isinstance(option, torch.Tensor) for option in (*args[3:], *(kwargs or {}).values()))
        return func(*args, **(kwargs or {}))


def run(name, device):
    case = SCHEMES[name]
    layer = case.layer(num_heads=HEADS, width=WIDTH).to(device, torch.float32)
    x = case.tokens(GRID, width=WIDTH).to(device, torch.float32).requires_grad_()
    with torch.autocast(device, torch.bfloat16):
        y = layer(x, GRID)
    y.square().mean().backward()
    assert all(torch.isfinite(p.grad).all() for p in layer.parameters())


@pytest.mark.parametrize("name", SCHEMES)
def test_flash_attention_could_take_every_call(name):
    """Check its conditions: no mask, adjacent channels, strides of 16 bytes, 8 to 128 channels a head, no broadcast."""
    with Calls() as calls:
        run(name, "cpu")
    assert calls.inputs and calls.masked == (name in MASKED)
    for q, k, v in calls.inputs:
        assert q.shape[:2] == k.shape[:2] and k.shape == v.shape and q.ndim == 4
        assert q.shape[-1] == WIDTH // HEADS
        for x in (q, k, v):
            assert x.dtype == torch.bfloat16
            assert x.stride(-1) == 1
            assert all(step % 8 == 0 for step, size in zip(x.stride()[:-1], x.shape, strict=False) if size > 1)
            assert x.storage_offset() % 8 == 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: make test on a machine with one")
@pytest.mark.parametrize("name", SCHEMES)
def test_a_fast_kernel_takes_every_call(name):
    """Allow flash and cuDNN attention only; with a mask, memory-efficient attention too."""
    kernels = [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION]
    with sdpa_kernel([*kernels, SDPBackend.EFFICIENT_ATTENTION] if name in MASKED else kernels):
        run(name, "cuda")
