"""Test the cost of a scheme's layer."""

from lit_video.attention import Attention, Scheme
from lit_video.attention.shifted_windows import ShiftedWindows
from lit_video.schemes.cost import costs


class ByLayer(Scheme):
    """Scheme whose class takes the layer's number."""

    def __init__(self, dim, num_heads, layer):
        super().__init__()
        self.attn = Attention(dim, num_heads)
        self.layer = layer

    def forward(self, x, grid):
        return x + self.attn(x)


def test_a_scheme_may_take_the_number_of_its_layer():
    (cost,) = costs({"by layer": ByLayer})
    assert cost.params > 0 and cost.macs > 0


def test_a_scheme_that_refuses_the_clip_is_left_out():
    assert [cost.name for cost in costs({"by layer": ByLayer, "windows": ShiftedWindows})] == ["by layer"]
