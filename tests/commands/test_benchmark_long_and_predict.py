"""The commands that measure long clips and the ways to run a model keep what they measure."""

import json

import pytest

from lit_video.__main__ import main
from lit_video.benchmark import predict_timing
from lit_video.benchmark.long_timing import exponents

SMALL = ["--size", "Ti", "--image-size", "32", "--device", "cpu", "--repeats", "2"]


def test_exponents_of_powers_of_the_frames():
    rows = [{"model": "m", "frames": t, "forward_seconds": 3 * t**2, "train_seconds": 5 * t} for t in (8, 16, 64)]
    rows.append({"model": "m", "frames": 128, "left_out": "out of memory"})
    assert exponents(rows) == {"m": pytest.approx({"forward_seconds": 2, "train_seconds": 1})}


def test_long_clips_are_measured_and_kept(tmp_path, capsys):
    path = tmp_path / "long.json"
    assert main(["benchmark", "long", *SMALL, "--frames", "2,8", "-o", str(path)]) == 0
    result = json.loads(path.read_text())
    assert [(row["model"], row["frames"], row["image_size"]) for row in result["rows"]] == [
        *(("X-ViT", 2, 32), ("X-ViT", 8, 32), ("T+S", 2, 32), ("T+S", 8, 32), ("T+S, twice the side", 2, 64))
    ]
    assert result["rounds"] == 2
    assert all(row["train_seconds"] > 0 and row["forward_seconds"] > 0 for row in result["rows"])
    assert result["exponents"]["X-ViT"].keys() >= {"forward_seconds", "train_seconds"}
    assert "exponents of the frames" in capsys.readouterr().out


def test_ways_are_measured_and_kept_and_one_that_is_wrong_is_left_out(tmp_path, capsys, monkeypatch):
    ways = {"wrong": lambda given: lambda clip: given.network(clip) + 1}
    monkeypatch.setattr(predict_timing, "WAYS", predict_timing.WAYS | ways)
    path = tmp_path / "predict.json"
    command = ["benchmark", "predict", *SMALL, "--frames", "2", "--batch", "2", "--ways", "bf16;wrong"]
    assert main([*command, "-o", str(path)]) == 0
    result = json.loads(path.read_text())
    assert result["rounds"] == 2
    eager, low, wrong = result["rows"]
    assert (eager["way"], eager["latency_ratio"], eager["throughput_ratio"]) == ("eager", 1, 1)
    assert eager["logits_difference"] == 0 < low["logits_difference"] < 0.1
    assert low["latency_10"] <= low["latency"] <= low["latency_90"]
    assert "its logits differ by" in wrong["left_out"]
    assert f"wrong: {wrong['left_out']}" in capsys.readouterr().out


@pytest.mark.parametrize("way", ["half", "half, bf16"])
def test_a_way_whose_logits_are_no_numbers_for_one_clip_is_left_out(way, tmp_path, monkeypatch):
    ways = {way: lambda given: lambda clip: given.network(clip) * (float("nan") if len(clip) == 1 else 1)}
    monkeypatch.setattr(predict_timing, "WAYS", predict_timing.WAYS | ways)
    path = tmp_path / "predict.json"
    command = ["benchmark", "predict", *SMALL, "--frames", "2", "--batch", "2", "--ways", way]
    assert main([*command, "-o", str(path)]) == 0
    _, wrong = json.loads(path.read_text())["rows"]
    assert "its logits differ by nan of the largest" in wrong["left_out"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["long", "--frames", "8"], "--frames: expected two numbers or more"),
        (["predict", "--ways", "fast"], "--ways: no way 'fast'; ways: eager; compiled"),
        (["predict", "--batch", "1"], "--batch is at least 2"),
        (["predict", "--ckpt", "a.ckpt", "--image-size", "96"], "--image-size is of a model without weights"),
        (["long", "--image-size", "40"], "--image-size: is 40, expected a multiple of 16"),
        (["predict", "--size", "Ti", "--image-size", "40"], "--model: X-ViT: image_size 40x40 is not divisible"),
        (["predict", "--size", "Ti", "--image-size", "48", "--model", "L+G"], "--model: L+G: attention local_global"),
    ],
)
def test_mistakes_are_one_line(command, message, capsys):
    assert main(["benchmark", *command]) == 2
    assert message in capsys.readouterr().err
