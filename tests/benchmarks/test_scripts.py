"""Test the benchmark scripts: each runs, keeps its rows and shows them, and compared outputs are equal; no timings."""

import json
import time
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchmarks import clip_decoders, data, exports, first_minutes, harness, minutes, models, transfer
from benchmarks.long import exponents
from benchmarks.sample_videos import KINDS, encode
from lit_video.datamodules import drawing
from lit_video.engine import step_times
from lit_video.errors import UserError
from lit_video.network.vit import SIZES, ViTSize
from lit_video.own_videos import first_answer
from lit_video.training import rehearsal
from lit_video.utils import environment

CPU = torch.device("cpu")
SMALL = ["--size", "Ti", "--image-size", "32", "--device", "cpu"]


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Function that runs a script with small models and returns its results."""
    monkeypatch.setitem(SIZES, "Ti", ViTSize(24, 2, 3))

    def run(script, *flags, status=0):
        kept = tmp_path / "kept.json"
        monkeypatch.setattr("sys.argv", [script, *flags, "-o", str(kept)])
        assert import_module(f"benchmarks.{script}").main() == status
        result = json.loads(kept.read_text())
        assert {"command", "commit", "device", "versions"} <= result.keys()
        return result

    return run


@pytest.mark.slow
def test_models_and_their_peers_take_turns(measured, capsys):
    pytest.importorskip("transformers", reason="transformers is not installed, so there are no peers")
    flags = [*SMALL, "--frames", "2", "--repeats", "2", "--models", "spatial-only,X-ViT,T+S,ViViT-1,ViViT-4,MViT-v2-S"]
    result = measured("model", *flags)
    rows = {row["name"]: row for row in result["rows"]}
    assert ",".join(rows) == "spatial-only,X-ViT,T+S,HF T+S,ViViT-1,HF ViViT-1,ViViT-4,MViT-v2-S"
    for name in ("T+S", "ViViT-1"):
        assert rows[name]["logits_difference"] < 1e-5
        assert all(rows[name][key] == rows[f"HF {name}"][key] for key in ("params", "macs", "frames"))
    assert rows["X-ViT"]["against"] == "spatial-only" and rows["X-ViT"]["train_ratio"] > 0
    assert rows["ViViT-4"]["left_out"].startswith("num_heads is 3")
    assert rows["MViT-v2-S"]["left_out"] == "torchvision builds it for 224 pixels only"
    assert result["rounds"] == 2
    rate = rows["X-ViT"]["train_of_peak"] * result["matmul_flops"]
    assert rate == pytest.approx(6 * rows["X-ViT"]["macs"] / rows["X-ViT"]["train_seconds"])
    printed = capsys.readouterr().out
    assert "│ X-ViT " in printed and "ViViT-4: left out: num_heads is 3" in printed


def test_what_fails_is_said_and_the_others_go_on(measured, monkeypatch):
    def fails(side):
        raise RuntimeError("CUDA out of memory\nand more")

    monkeypatch.setitem(models.PUBLISHED, "SlowFast R50", (4, fails))
    flags = [*SMALL, "--frames", "2", "--repeats", "1", "--models", "SlowFast R50,X-ViT"]
    failed, ours = measured("model", *flags, status=1)["rows"]
    assert failed["left_out"] == "failed: CUDA out of memory"
    assert ours["train_seconds"] > 0 and "train_ratio" not in ours


@pytest.mark.slow
def test_long_clips(measured):
    rows = measured("long", *SMALL, "--frames", "8,2", "--repeats", "1")["rows"]
    lengths = [f"{row['name']} of {row['image_size']} px" for row in rows]
    plain = [f"{model}, {t} frames of 32 px" for model in ("X-ViT", "T+S") for t in (2, 8)]
    assert lengths == [*plain, "T+S, twice the side, 2 frames of 64 px"]
    assert all(row["train_seconds"] > 0 for row in rows)


def test_exponents_of_powers_of_the_frames():
    rows = [{"model": "m", "frames": t, "forward_seconds": 3 * t**2, "train_seconds": 5 * t} for t in (8, 16, 64)]
    rows.append({"model": "m", "frames": 128, "left_out": "out of memory"})
    assert exponents(rows) == {"m": pytest.approx({"forward_seconds": 2, "train_seconds": 1})}


@pytest.mark.slow
def test_mixing_beside_spatial_attention(measured):
    rows = measured("mixing", "--device", "cpu", "--side", "1", "--repeats", "1", "--dtype", "bf16")["rows"]
    assert [row["name"] for row in rows] == ["space", "window 1", "window 2", "causal"]
    assert rows[0]["forward_ratio"] == 1 and rows[1]["train_ratio"] > 0


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    encode(folder / "0.mp4", replace(KINDS[0], width=96, height=72, num_frames=40), 0)
    return folder


@pytest.mark.slow
def test_a_step_is_timed_by_part_for_each_form_of_muon(measured, table, tmp_path):
    path, rewrite = table
    data = f"data.root: {tmp_path}, data.pairs: [4, 1, 1], data.batch_size: 4, data.num_workers: 0"
    data += ", data.lesson: {classes: [drift left, drift right], steps: 100}"
    model = "model.size: {embed_dim: 16, depth: 2, num_heads: 2}, model.optimization: {optimizer: muon}"
    rewrite("set: {model.ta_layers: 0}", f"set: {{model.ta_layers: 0, {data}, {model}}}")
    flags = ["--rows", "first", "--steps", "2", "--warm", "1", "--repeats", "1", "--device", "cpu"]
    rows = measured("step", str(path), *flags)["rows"]
    assert [row["optimizer"] for row in rows] == ["timm's, bfloat16", "timm's, float32", "stacked"]
    for row in rows:
        assert min(row[f"{part}_ms"] for part in ("data", "forward_backward", "optimizer")) > 0
        assert row["whole_ms"] >= row["forward_backward_ms"]


@pytest.mark.slow
def test_reverses_cancel_the_gradient_of_a_row_that_is_blind_to_order(measured, table, tmp_path):
    """Measure a mean over frames without positions in time, which starts with directions nearly equally likely."""
    path, rewrite = table
    data = f"data.root: {tmp_path}, data.pairs: [4, 1, 1], data.num_workers: 0"
    size = "model.size: {embed_dim: 16, depth: 2, num_heads: 2}"
    blind = "model.window: 0, model.positions: space, model.dropout: 0.0"
    rewrite("set: {model.ta_layers: 0}", f"set: {{model.ta_layers: 0, {data}, {size}, {blind}}}")
    flags = ["--rows", "first", "--batches", "4", "--batch", "8", "--device", "cpu"]
    rows = measured("gradient_noise", str(path), *flags)["rows"]
    noise = {row["films"]: row["noise"] for row in rows}
    assert noise["unrelated"] > 1e-4
    assert noise["reverses"] < 1e-4 * noise["unrelated"]


def test_commands_run_as_typed_and_end_as_they_should(measured, monkeypatch):
    refused = first_minutes.COMMANDS[2]
    monkeypatch.setattr(first_minutes, "COMMANDS", (refused, ("another's scheme", "python my_scheme.py", 0)))
    rows = measured("first_minutes", "--repeats", "1")["rows"]
    assert [row["shown"] for row in rows] == [refused[1], "python my_scheme.py"]
    assert all(0 < row["first_line"] <= row["seconds"] and row["processor"] > 0 for row in rows)
    with pytest.raises(UserError, match=r"fit ablation_tw .*: ended with 2: error: .*batch_sizes: no such setting"):
        first_minutes.timed(refused[1], 0)


def test_minutes_of_the_processor_count_no_waiting(monkeypatch, tmp_path):
    for module in (environment, step_times, rehearsal, first_answer, import_module("lit_video.api.finetune")):
        monkeypatch.setattr(module, "time", time)  # so that the clock is put back
    monkeypatch.setattr(minutes, "table_of_videos", lambda *_, file, **named: file.write_text("path,label"))

    def finetune(table, **_):
        waited = environment.seconds(lambda: time.sleep(0.3), CPU)
        return SimpleNamespace(planned_seconds=waited, seconds=first_answer.time.monotonic())

    monkeypatch.setattr(minutes.lit_video, "finetune", finetune)
    before = harness.processor_seconds()
    found = minutes.finetuned("avletters", SimpleNamespace(cpu=True, minutes=1.0, videos=tmp_path))
    assert found["promised"] < 0.2
    assert before <= found["used"] <= harness.processor_seconds()


def test_promised_and_used_minutes_stand_side_by_side(measured, monkeypatch, tmp_path, capsys):
    def in_this_process(command, **_):
        monkeypatch.setattr("sys.argv", command[2:])
        return minutes.main()

    def finetune(table, *, minutes, **_):
        assert "path,label" in table.read_text() and minutes == 3.0
        return SimpleNamespace(planned_seconds=180.0, seconds=198.0)

    monkeypatch.setattr(minutes.subprocess, "run", in_this_process)
    monkeypatch.setattr(minutes, "table_of_videos", lambda *_, file, **named: file.write_text("path,label"))
    monkeypatch.setattr(minutes.lit_video, "finetune", finetune)
    rows = measured("minutes", "--videos", str(tmp_path), "--sets", "avletters", "--minutes", "3")["rows"]
    assert rows == [{"name": "avletters", "promised": 180.0, "used": 198.0}]
    assert "1.10" in capsys.readouterr().out


def test_libraries_and_presets(videos, measured):
    result = measured("data", str(videos), "--clips", "1")
    rows = {(row["library"], row["sampling"]): row for row in result["rows"]}
    for sampling in data.SAMPLINGS:
        assert rows["lit_video", sampling]["ratio"] > 0 and rows["PyTorchVideo", sampling]["ratio"] == 1
    formats = {row["format"]: row for row in result["formats"]}
    assert [*formats] == ["source", "small", "fast", "fastest"]
    assert formats["small"]["size_ratio"] < formats["fast"]["size_ratio"] < formats["fastest"]["size_ratio"]
    assert all(30 < formats[name]["psnr"] < 50 for name in ("small", "fast", "fastest"))


def test_wrong_pixels_are_an_error_and_not_timed(videos, monkeypatch):
    ours = next(clip_decoders.clip_decoders())
    late = replace(ours, decode=lambda clip: ours.decode(replace(clip, numbers=tuple(n + 1 for n in clip.numbers))))
    monkeypatch.setattr(data, "clip_decoders", lambda: [late])
    rows = [*data.readers([videos / "0.mp4"], 1)]
    assert all("other pixels in frames" in row["left_out"] and "seconds" not in row for row in rows)


def test_rounds_are_interleaved_and_the_first_does_not_count():
    calls = []
    actions = {name: lambda name=name: calls.append(name) for name in "ab"}
    *_, times = harness.rounds(actions, 3, CPU)
    each = [calls[i : i + 2] for i in range(0, 8, 2)]
    assert all(sorted(names) == ["a", "b"] for names in each)
    assert ["b", "a"] in each and ["a", "b"] in each
    assert [len(times[name]) for name in "ab"] == [3, 3]


def test_transfer_keeps_no_result_of_another_setting_and_no_seconds_of_a_part(tmp_path):
    facts = {"commit": "abc", "minutes": "1"}
    (tmp_path / "kept.json").write_text(json.dumps(facts | {"results": [{"seed": 0}]}))
    assert transfer.kept(tmp_path / "kept.json", facts) == [{"seed": 0}] and transfer.kept(tmp_path / "no", facts) == []
    with pytest.raises(SystemExit, match=r"kept\.json: its minutes is 1, now it is 5; give another --output"):
        transfer.kept(tmp_path / "kept.json", facts | {"minutes": "5"})
    with pytest.raises(SystemExit, match="begun before, so its seconds would be those of a part"):
        transfer.measure(tmp_path / "table.csv", [], tmp_path, 0, "1")


def test_floors_depend_on_the_order_of_frames(measured, tmp_path):
    """Learn videos that grow bright or dark, from four persons, and test the other four."""
    lines = ["path,label,person"]
    for i in range(16):
        shades = np.linspace(20, 200, 20).astype(np.uint8)[:: (1, -1)[i % 2]]
        drawing.encode(tmp_path / f"{i}.mp4", np.tile(shades[:, None, None, None], (1, 32, 32, 3)), 10)
        lines.append(f"{i}.mp4,{('swipe_left', 'push')[i % 2]},s0{i // 2 + 1}")
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    found = measured("floors", str(tmp_path))["accuracy"]
    assert (found["in order"], found["reversed"]) == ([100.0] * 3, [0.0] * 3)


@pytest.mark.slow
def test_leakage_tries_one_frame_and_the_sizes_of_every_skill(measured, monkeypatch):
    monkeypatch.setattr("benchmarks.leakage.PAIRS", (8, 1, 8))
    found = measured("leakage", "--scales", "embedded")["accuracy"]["embedded"]
    assert found.keys() >= {"drift", "zoom", "order3", "meeting"}
    for shares in found.values():
        assert shares.keys() == {"first", "middle", "last", "sizes"}
        assert shares["first"] == shares["last"], "a video's last frame is the first of its reverse"


def test_exports_say_what_fails_and_go_on(measured, monkeypatch, capsys):
    tried = []

    def exact(network, clips):
        tried.append(float((network(clips(2)) - network(clips(2))).abs().max()))
        return tried[-1]

    def refused(network, clips):
        raise ValueError("of four axes only\nand a long explanation")

    monkeypatch.setattr(exports, "WAYS", {"pt2": ("torch.export", exact), "aot": ("AOTInductor", refused)})
    flags = ["exports", "--device", "cpu", "--models", "ST,ViViT-1"]
    (first, _) = measured(*flags, "--ways", "pt2")["rows"]
    assert first == {"name": "ST", "differences": {"pt2": 0.0}, "errors": {}}
    (first, _) = measured(*flags, "--ways", "pt2,aot")["rows"]
    assert tried == [0.0, 0.0], "what is known is not tried again"
    assert first["errors"] == {"aot": "of four axes only"}
    assert "ST, AOTInductor: of four axes only" in capsys.readouterr().out
    rows = measured("exports", "--device", "cpu", "--models", "ViViT-1", "--ways", "pt2")["rows"]
    assert sorted(row["name"] for row in rows) == ["ST", "ViViT-1"] and first in rows, "other rows stay in the file"
    (table,) = exports.tables({"ways": "pt2,aot", "models": "ST,S", "versions": {"torch": "2"}, "rows": [first]})
    assert table.body == [["ST", "0e+00", "no"], ["S", "not run", "not run"]]
    (table,) = exports.tables({"ways": "pt2", "models": "S", "versions": {"torch": "2"}, "rows": []})
    assert table.notes == ["not run by this command: AOTInductor"]
