"""A run of several tables is trained once, and only what is the same is taken for it."""

import json
import os

import pytest
import torch
import yaml

from lit_video.__main__ import main
from lit_video.commands.fit import _rounds
from lit_video.launching.work import work_list
from lit_video.tables.results import read_result
from lit_video.training.checkpoint_file import peek
from lit_video.training.request import build_request
from lit_video.training.same_run import finished_same, take_result
from lit_video.utils.yaml_files import read_yaml
from tests.conftest import ROOT

COMMIT = "0123456789ab"


@pytest.fixture
def source(finished, monkeypatch):
    """A finished run of a clean checkout."""
    path = finished / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"commit": COMMIT}))
    monkeypatch.setattr("lit_video.training.run.commit", lambda: COMMIT)
    return finished


def fit(path, source, flags, row="second"):
    runs = str(source.parents[3])
    return main(["fit", "--config", str(path), "--row", row, "--runs", runs, "--reuse", *flags])


def test_another_table_takes_the_result(source, table, tiny, capsys):
    other = table[0].with_name("other.yaml")
    other.write_text(table[0].read_text().replace("second:", "again:"))
    assert fit(other, source, tiny, "again") == 0
    assert f"again seed 0: the same run as {source}, its result taken" in capsys.readouterr().out
    folder = source.parents[3] / "other/default/again/seed0"
    taken, result = read_result(folder), read_result(source)
    assert taken == result | {"table": "other", "row": "again", "same_run": "two/default/second/seed0"}
    for name in ("last.ckpt", "predictions.npz", "config.yaml", "curves.csv"):
        assert (folder / name).read_bytes() == (source / name).read_bytes()
    assert fit(other, source, tiny, "again") == 0
    assert "again seed 0: finished, skipped" in capsys.readouterr().out
    assert main(["table", "--config", str(other), "--runs", str(source.parents[3])]) == 0


def test_a_row_that_is_tested_otherwise_takes_the_weights(source, table, tiny, capsys):
    other = table[0].with_name("other.yaml")
    other.write_text(table[0].read_text().replace("second:", "again:"))
    views = ["--data.test_clips", "2", "--data.test_orders", "[reversed]"]
    assert fit(other, source, [*tiny, *views], "again") == 0
    said = capsys.readouterr().out
    assert f"again seed 0: trained as {source}, tested otherwise" in said
    assert "data.init_args.test_clips was 1, from here on 2" in said
    folder = source.parents[3] / "other/default/again/seed0"
    taken, result = read_result(folder), read_result(source)
    assert (taken["views"], result["views"]) == (6, 3)
    assert "reversed/video_top1" in taken["metrics"]
    assert taken["seconds"] == pytest.approx(result["seconds"], abs=0.5)
    assert {change["key"] for change in taken["changes"]} == {
        "data.init_args.test_clips",
        "data.init_args.test_orders",
    }
    assert (folder / "curves.csv").read_bytes() == (source / "curves.csv").read_bytes()
    own, first = peek(folder / "last.ckpt"), peek(source / "last.ckpt")
    for key, value in first["state_dict"].items():
        assert torch.equal(own["state_dict"][key], value)
    assert (own["lit_video"]["data"]["test_clips"], first["lit_video"]["data"]["test_clips"]) == (2, 1)
    # the same numbers as of a run that trains by itself
    args = ["fit", "--config", str(other), "--runs", str(source.parents[3].with_name("alone")), *tiny, *views]
    assert main([*args, "--row", "again"]) == 0
    alone = read_result(source.parents[3].with_name("alone") / "other/default/again/seed0")
    assert alone["metrics"] == taken["metrics"]


def test_side_by_side_what_trains_comes_first(tiny):
    path = ROOT / "experiments/timesformer_clips.yaml"
    runs = work_list([build_request([path])])
    trained, tested = _rounds(runs)
    assert [(run.row.name, run.seed) for run in trained] == [("base1", 0), ("l1", 0)]
    assert len(tested) == 8
    assert _rounds(trained) == [trained]


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config["model"]["init_args"].update(window=2),
        lambda config: config["trainer"].update(max_epochs=3),
        lambda config: config["data"]["init_args"].update(batch_size=8),
        lambda config: config["data"]["init_args"].update(root="elsewhere"),
        lambda config: config.update(seed_everything=1),
    ],
)
def test_other_settings_are_another_run(source, change):
    runs, config = source.parents[3], read_yaml(source / "config.yaml")
    assert finished_same(runs, config, 0, COMMIT) == source
    change(config)
    assert finished_same(runs, config, 0, COMMIT) is None


def test_settings_without_numbers_may_differ(source):
    config = read_yaml(source / "config.yaml")
    config["data"]["init_args"]["num_workers"] = 7
    assert finished_same(source.parents[3], config, 0, COMMIT) == source


@pytest.mark.parametrize("name", ["weights", "image_weights"])
def test_a_run_from_weights_that_have_changed_since_is_another_run(name, source, tmp_path):
    weights = tmp_path / "weights.pth"
    weights.write_bytes(b"old")
    os.utime(weights, (1e9, 1e9))
    config = read_yaml(source / "config.yaml")
    config["model"]["init_args"][name] = str(weights)
    (source / "config.yaml").write_text(yaml.safe_dump(config))
    assert finished_same(source.parents[3], config, 0, COMMIT) == source
    weights.write_bytes(b"new")
    assert finished_same(source.parents[3], config, 0, COMMIT) is None


@pytest.mark.parametrize(
    "result",
    [
        {"commit": "fedcba987654"},
        {"changes": [{"key": "trainer.max_epochs"}]},
        {"skipped_steps": 1},
        {"params": "many"},
    ],
)
def test_results_of_other_code_or_settings_and_damaged_ones_are_not_taken(source, result):
    path = source / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | result))
    assert finished_same(source.parents[3], read_yaml(source / "config.yaml"), 0, COMMIT) is None


@pytest.mark.parametrize("code", ["unknown", f"{COMMIT}+changes"])
def test_code_without_a_commit_reuses_nothing(source, table, tiny, code, monkeypatch, capsys):
    monkeypatch.setattr("lit_video.training.run.commit", lambda: code)
    assert fit(table[0], source, tiny, "first") == 2
    assert capsys.readouterr().err.startswith(f"error: --reuse: the code is not a commit's ({code})")


def test_processes_that_torchrun_starts_do_not_look_each_for_itself(source, table, tiny, monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert fit(table[0], source, tiny, "first") == 2
    assert "--reuse: not for a run whose processes torchrun" in capsys.readouterr().err


def test_without_links_the_checkpoint_is_copied(source, tmp_path, monkeypatch):
    monkeypatch.setattr("os.link", lambda *_: (_ for _ in ()).throw(OSError("no links here")))
    target = tmp_path / "runs/t/default/r/seed0"
    target.mkdir(parents=True)
    take_result(source, target, {"table": "t", "row": "r", "scale": "default"})
    assert read_result(target)["same_run"] == "two/default/second/seed0"
