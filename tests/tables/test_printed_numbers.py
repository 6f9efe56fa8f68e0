"""Test the papers' printed numbers: their keys, and that one number does not stand for two trainings in silence.

Findings of the third audit (S, D) are taken back, and found.
"""

import re

import pytest
import yaml

from benchmarks.papers.printed import comments_at, printed_rows, two_trainings
from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from tests.tables.experiments import EXPERIMENTS


@pytest.mark.parametrize("recipe", ["paper", "released"])
def test_a_printed_number_stands_for_one_training_or_a_comment_says_why_not(recipe):
    rows = printed_rows(recipe)
    assert len(rows) > 60
    assert list(map(str, two_trainings(rows))) == []


def test_a_number_with_two_trainings_is_found():
    """Take back S1: 62.4 of Table 7's TimeSformer-L from ImageNet-21K, without its comment."""
    path = EXPERIMENTS / "xvit_ssv2.yaml"
    text = path.read_text(encoding="utf-8")
    was, count = re.subn(
        r" *# 62.4 is the model.*\n *ssv2: \{model.image_weights: timm:vit_base_patch16_224.augreg_in1k\}\n", "", text
    )
    assert count == 1

    rows = printed_rows("paper")
    for each in rows:
        if (each.path, each.row.name) == (path, "timesformer_l"):
            each.row.settings["model.image_weights"] = "timm:vit_base_patch16_224.orig_in21k"
    found = two_trainings(rows, lambda file, row: comments_at(file, row, was if file == path else None))
    assert list(map(str, found)) == [
        f"62.4 on ssv2: {row} and xvit_ssv2/timesformer_l differ in model.image_weights"
        for row in ("timesformer_pretraining/l_1k", "timesformer_ssv2/l")
    ]


COMMENTS = {
    "paper": {"43.1", "45.2", "56.6", "58.5", "59.5", "60.5", "62.5", "77.8", "78.8", "80.6"},
    "released": {"64.4", "78.5"},
}


@pytest.mark.parametrize("recipe", COMMENTS)
def test_comments_on_numbers_are_needed(recipe):
    found = {pair.first.number for pair in two_trainings(printed_rows(recipe), lambda path, row: "")}
    assert found >= COMMENTS[recipe]


MISTAKES = {
    # D2: a rename by a script
    "published.num_frames": ("xvit_ssv2", "        frames: 32\n        views", "        num_frames: 32\n        views"),
    "paper.test/video_top2": ("xvit_ssv2", "{test/video_top1: 66.4", "{test/video_top2: 66.4"),
    "paper.ssv2.video_top1": ("timesformer_order", "ssv2: {test/video_top1: 59.0", "ssv2: {video_top1: 59.0"),
    "paper.V100 hour": ("timesformer_cnns", "V100 hours: 1440", "V100 hour: 1440"),
}


@pytest.mark.parametrize("key", MISTAKES)
def test_an_unknown_key_beside_a_printed_number_is_refused(key, tmp_path):
    table, old, new = MISTAKES[key]
    text = (EXPERIMENTS / f"{table}.yaml").read_text(encoding="utf-8")
    assert text.count(old) == 1
    (tmp_path / f"{table}.yaml").write_text(text.replace(old, new))
    with pytest.raises(UserError, match=rf"table\.rows\.\w+\.{re.escape(key)}: no such key; expected one of"):
        read_table([tmp_path / f"{table}.yaml"])


@pytest.mark.parametrize(("recipe", "scale"), [("paper", "k400"), ("released", "k400-released")])
def test_a_row_starts_from_the_run_of_its_own_recipe(recipe, scale, capsys):
    """S8: Epic-Kitchens' rows of a recipe start from Kinetics' rows of the same recipe."""
    files = [f"--config={EXPERIMENTS / name}" for name in ("vivit_models.yaml", "scale/epic100.yaml")]
    assert main(["fit", *files, "--row=model1,model2", f"--recipe={recipe}", "--print-config"]) == 0
    configs = list(yaml.load_all(capsys.readouterr().out, yaml.CSafeLoader))
    weights = [config["model"]["init_args"]["weights"] for config in configs]
    assert weights == [f"runs/vivit_models/{scale}/{row}/seed0" for row in ("model1", "model2")]


def test_the_run_to_train_before_is_named_with_its_recipe(capsys, tmp_path):
    files = [f"--config={EXPERIMENTS / name}" for name in ("vivit_models.yaml", "scale/epic100.yaml")]
    words = [
        "--row=model1",
        "--recipe=released",
        f"--runs={tmp_path}",
        f"--data.root={tmp_path}",
        "--trainer.accelerator=cpu",
        "--trainer.devices=1",
    ]
    assert main(["fit", *files, *words]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "fit --config vivit_models --config scale/k400 --recipe released --row model1 --seeds 0" in line
