"""The rows of the benchmark of mixing must be what their names say."""

import json

import torch

from benchmarks import mixing
from lit_video.attention import Grid


def recorded(layer):
    """Names of the operations that autograd recorded."""
    names, left = set(), [layer(torch.randn(1, 16, 768), Grid(8, 1, 1)).grad_fn]
    while left:
        node = left.pop()
        names.add(type(node).__name__)
        left += [parent for parent, _ in node.next_functions if parent]
    return names


def test_slices_are_recorded_by_autograd_and_the_layer_itself_is_not():
    made = mixing.layers(torch.device("cpu"))
    assert "CopySlices" in recorded(made["slices"])
    assert "CopySlices" not in recorded(made["window 1"])
    assert not mixing.Plain.in_place(torch.empty(1), 8)


def test_prints_ratios_to_spatial_attention(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["mixing.py", "--device", "cpu", "--side", "1", "--rounds", "1", "--dtype", "bf16"])
    mixing.main()
    result = json.loads(capsys.readouterr().out)
    assert result["device"]
    rows = {(row["layer"], row["mode"]): row["ratio"] for row in result["rows"]}
    layers, modes = ("space", "window 1", "window 2", "causal", "slices"), ("forward", "forward + backward")
    assert list(rows) == [(layer, mode) for mode in modes for layer in layers]
    assert all(ratio == 1 if layer == "space" else ratio > 0 for (layer, _), ratio in rows.items())
