"""Test the cost of a scheme: of every scheme that a model takes, or a reason why it has none."""

import lit_video
from lit_video.attention import Scheme, Space
from lit_video.attention.shifted_windows import ShiftedWindows, SmallWindows
from lit_video.schemes import layer_cost
from lit_video.schemes.layer_cost import costs, refusals


class ByLayer(Scheme):
    """Attention within each frame, which the constructor does not build without a layer's number."""

    class_tokens = "frame"

    def __init__(self, dim, num_heads, layer):
        super().__init__()
        self.space = Space(dim, num_heads)
        self.layer = layer

    def forward(self, x, grid):
        return self.space(x, grid)


def test_schemes_that_take_a_layer_are_measured_as_models_build_them(monkeypatch):
    monkeypatch.setattr(layer_cost, "ROUNDS", 1)
    schemes = {"own": ByLayer, "space": Space, "windows": SmallWindows}
    assert refusals(schemes) == {}
    own, space, windows = costs(schemes)
    assert (own.name, own.params, own.macs) == ("own", space.params, space.macs)
    assert windows.macs > 0 and own.seconds > 0


def test_a_scheme_that_refuses_the_clip_has_no_cost_and_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(layer_cost, "ROUNDS", 1)
    monkeypatch.setattr("lit_video.api.profile.built_in", lambda: {"space": Space})
    monkeypatch.setattr("lit_video.api.profile._picture", lambda *of: b"")
    profile = lit_video.profile(ShiftedWindows, train=False, output=tmp_path)
    assert profile.ok and list(profile.no_costs) == ["ShiftedWindows"]
    assert "16 x 8 x 8" in profile.no_costs["ShiftedWindows"] and "16 x 8 x 8" in str(profile)
    assert [measured.name for measured in profile.costs] == ["space"]
