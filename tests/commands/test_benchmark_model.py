"""The benchmark of the models: what it compares is equal, and what it prints is complete. Never how fast."""

import json

import pytest
import torch

from lit_video.__main__ import main
from lit_video.benchmark.models import Clip, build
from lit_video.benchmark.timing import interleaved, peak_memory
from lit_video.network.vit import SIZES, ViTSize

SMALL = ["--size", "Ti", "--frames", "2", "--image-size", "32", "--repeats", "2"]
SIZE = ViTSize(16, 1, 2)


def test_peers_have_the_same_weights_and_give_the_same_logits(capsys):
    pytest.importorskip("transformers", reason="transformers is not installed, so there are no peers")
    assert main(["benchmark", "model", "--models", "ST,T+S,ViViT-1", *SMALL, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    rows = {row["model"]: row for row in result["rows"]}
    assert list(rows) == ["ST", "HF ST", "T+S", "HF T+S", "ViViT-1", "HF ViViT-1"]
    for name in ("ST", "T+S", "ViViT-1"):
        assert rows[name]["logits_difference"] < 1e-5
        assert rows[name]["params"] == rows[f"HF {name}"]["params"]
        assert rows[name]["macs"] == rows[f"HF {name}"]["macs"]
        assert rows[name]["forward_throughput_ratio"] > 0
    assert rows["ST"]["frames"] * 2 == rows["ViViT-1"]["frames"]
    assert result["command"].endswith("--json")
    assert {"commit", "device", "versions", "dtype", "batch", "repeats"} <= result.keys()


def test_prints_every_scheme_and_draws_it(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(SIZES, "Ti", ViTSize(24, 2, 3))  # of many models, so a small one
    path = tmp_path / "bench.png"
    assert main(["benchmark", "model", *SMALL, "--repeats", "1", "--plot", str(path)]) == 0
    printed = capsys.readouterr()
    for name in ("spatial-only", "X-ViT", "exact window", "S ", "ST", "T+S", "L+G", "T+W+H", "ViViT-3", "Perceiver"):
        assert name in printed.out
    assert "ViViT-4: left out: heads is 3" in printed.err
    assert path.read_bytes().startswith(b"\x89PNG")


def test_scaling_measures_the_same_model_at_more_frames(capsys):
    assert main(["benchmark", "model", "--scaling", *SMALL, "--repeats", "1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    rows = result["rows"]
    assert result["fit"]["macs"] == pytest.approx(1, abs=1e-6)
    assert [row["frames"] for row in rows] == [2, 4, 8]
    assert rows[2]["macs"] - rows[1]["macs"] == pytest.approx(2 * (rows[1]["macs"] - rows[0]["macs"]), rel=1e-3)


def test_a_stream_keeps_as_much_however_long_the_video(capsys, monkeypatch):
    monkeypatch.setitem(SIZES, "Ti", ViTSize(24, 2, 3))
    flags = ["--size", "Ti", "--image-size", "32", "--frames", "2", "--length", "16", "--device", "cpu"]
    assert main(["benchmark", "stream", *flags, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row["seen"] for row in result["rows"]] == [4, 8, 12, 16]
    places, width, depth = 5, 24, 2
    kept = 4 * (depth * 2 * places * width // 2 + width)  # half of the channels of keys and values, a frame token
    assert {row["kept_bytes"] for row in result["rows"]} == {kept}
    assert all(row["ratio"] > 0 and row["frame_seconds"] > 0 for row in result["rows"])
    assert main(["benchmark", "stream", *flags, "--ta-layers", "0"]) == 0
    assert "last quarter over first" in capsys.readouterr().out
    assert main(["benchmark", "stream", "--frames", "8", "--length", "31"]) == 2
    assert "--length is at least 4 clips, 32 frames" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--models", "X-VIT"], "--models: no model 'X-VIT'"),
        (["--models", "L+G", "--size", "Ti", "--frames", "3"], "--models: L+G: attention local_global needs"),
        (["--repeats", "0"], "at least 1"),
        (["--dtype", "fp8"], "fp8"),
        (["--size", "XL"], "--size: is XL, expected one of Ti, S, B, L, H"),
    ],
)
def test_mistakes_are_reported_in_one_line(flags, message, capsys):
    assert main(["benchmark", "model", *flags]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_rounds_are_interleaved_and_the_first_does_not_count():
    calls = []
    actions = {name: lambda name=name: calls.append(name) for name in "ab"}
    times = interleaved(actions, 3, torch.device("cpu"), "test")
    rounds = [calls[i : i + 2] for i in range(0, 8, 2)]
    assert all(sorted(names) == ["a", "b"] for names in rounds)
    assert ["b", "a"] in rounds and ["a", "b"] in rounds
    assert [len(times[name]) for name in "ab"] == [3, 3]


def test_peak_memory_sees_what_was_freed_again():
    with peak_memory(torch.device("cpu")) as peak:
        torch.ones(64, 2**20).sum()
    if not peak:
        pytest.skip("the kernel does not let a process restart its peak")
    assert peak[0] > 200 * 2**20


def test_every_contestant_of_a_size_takes_its_clips():
    for model in build(SIZE, Clip(4, 32), None):
        assert model.network(torch.randn(1, 3, model.frames, 32, 32)).shape[-1] == 400
