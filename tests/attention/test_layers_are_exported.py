"""Test that a layer of every scheme is exported for batches of any size."""

import pytest
import torch
from torch import nn

from lit_video.attention import Grid
from lit_video.attention.shifted_windows import SmallWindows
from lit_video.attention.token_learner import TokenLearner
from lit_video.attention.trajectory import Trajectory
from tests.attention.scheme_cases import CASES, HEADS, WIDTH, randomised
from tests.conftest import quick_or_slow

GRID = Grid(4, 4, 2)
LAYERS = {name: case.layer for name, case in CASES.items()} | {
    "trajectory": lambda: randomised(Trajectory(WIDTH, HEADS)),
    "token_learner": lambda: randomised(TokenLearner(WIDTH, HEADS)),
    "shifted_windows": lambda: randomised(SmallWindows(WIDTH, HEADS, layer=1)),
}

QUICK = {"mixing", "trajectory", "shifted_windows"}  # half a second each; networks of the others are exported, too


def tokens_of(name, count):
    torch.manual_seed(count)
    if name in CASES:
        return CASES[name].tokens(GRID, clips=count)
    own = 0 if name == "shifted_windows" else 1  # class tokens
    return torch.randn(count, own + GRID.t * GRID.h * GRID.w, WIDTH, dtype=torch.float64)


class Layer(nn.Module):
    """A layer on one grid."""

    def __init__(self, scheme):
        super().__init__()
        self.scheme = scheme

    def forward(self, x):
        return self.scheme(x, GRID)


@pytest.mark.parametrize("name", quick_or_slow(LAYERS, QUICK))
def test_a_layer_is_exported_for_any_number_of_clips(name):
    layer = Layer(LAYERS[name]()).eval()
    shapes = {"x": {0: torch.export.Dim("batch")}}
    program = torch.export.export(layer, (tokens_of(name, 2),), dynamic_shapes=shapes).module()
    with torch.no_grad():
        for count in (1, 3):
            x = tokens_of(name, count)
            torch.testing.assert_close(program(x), layer(x), atol=1e-12, rtol=1e-12)
