"""Memory and operators of training: the sums by hand."""

from torch import nn

from lit_video.costs.memory import Footprint
from lit_video.costs.operators import operators

FOOTPRINT = Footprint(parameters=1000, block=100, kept=2000, clip=5000, checkpointed=800)


def test_states():
    assert FOOTPRINT.ddp() == 16 * 1000 + 2000
    assert FOOTPRINT.fsdp(8) == 12 * 1000 // 8 + 16 * 100 + 2000


def test_clips_that_fit():
    assert FOOTPRINT.clips(18000, 18000 + 14999) == 2
    assert FOOTPRINT.clips(18000, 20000) == FOOTPRINT.clips(18000, 10000) == 0
    assert FOOTPRINT.clips(18000, 18000 + 2400, checkpointing=True) == 3


def test_operators_of_two_layers():
    small = nn.Sequential(nn.Linear(8, 16), nn.GELU())
    # addmm, gelu, sum, the gradient of the sum filled in; backward: gelu, product for the weight, sum for the bias
    assert operators(small, (2, 8), bfloat16=False) == operators(small, (4, 8), bfloat16=False) == 7
    assert operators(small, (2, 8), bfloat16=True) > 7  # copies in the lower precision
