"""Test the weights that come along: their files, and what training takes from them."""

import json

import pytest
import torch
from safetensors.torch import load_file

import lit_video
from benchmarks.pretraining.release import card
from benchmarks.pretraining.trials import PLAN, read_trial
from lit_video.__main__ import main
from lit_video.inference.checkpoints import read_checkpoint
from lit_video.own_videos.starts import start_from
from lit_video.weights.hub import DRAWN_FILE, DRAWN_WEIGHTS, find, weights_path
from tests.conftest import ROOT


def test_the_files_are_small_and_say_where_they_come_from():
    weights = load_file(DRAWN_FILE)
    assert {value.dtype for value in weights.values()} == {torch.float16}
    assert DRAWN_FILE.stat().st_size < 8e6
    text = DRAWN_FILE.with_name("README.md").read_text()
    assert "benchmarks.pretraining train" in text and "Commit: " in text and "Bad at: " in text


def test_the_card_is_that_of_the_record():
    record = json.loads((ROOT / "benchmarks/results/pretraining/drawn.json").read_text())
    count = sum(value.numel() for value in load_file(DRAWN_FILE).values())
    assert DRAWN_FILE.with_name("README.md").read_text() == card(read_trial(PLAN, "drawn"), record, count)


def test_the_weights_take_the_clips_of_the_card():
    text = DRAWN_FILE.with_name("README.md").read_text()
    hyper_parameters = read_checkpoint(DRAWN_FILE)["hyper_parameters"]
    assert f"{hyper_parameters['num_frames']} frames of {hyper_parameters['image_size']} pixels" in text


@pytest.mark.parametrize("name", ["drawn", "hub:drawn"])
def test_they_load_by_name_and_tell_a_clip_from_its_reversal(name):
    model = lit_video.load(name).model
    assert set(model.num_classes) == {"motion", "speed", "camera", "form", "texture", "hue"}
    generator = torch.Generator().manual_seed(0)
    clip = torch.randn(1, 3, 16, 48, 48, generator=generator)
    with torch.no_grad():
        assert not torch.allclose(model(clip), model(clip.flip(2)), atol=1e-2)


def test_training_starts_from_the_name_not_from_a_path_on_this_machine():
    start = start_from(DRAWN_WEIGHTS)
    assert (start.weights, start.model, start.is_small) == ("hub:drawn", "XViT", True)
    assert start.clips["num_frames"] == 16 and start.clips["image_size"] == 48
    assert weights_path(start.weights) == DRAWN_FILE == find(DRAWN_WEIGHTS).here


def test_they_are_listed_and_refused_where_a_trained_model_is_wanted(capsys):
    assert main(["weights"]) == 0
    listed = capsys.readouterr().out
    assert "XViT-96x4" in listed and "comes along" in listed
    assert main(["test", "--weights", "drawn"]) == 2
    assert "finetune VIDEOS --weights drawn" in capsys.readouterr().err
