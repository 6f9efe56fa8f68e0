"""Test ``--model.weights`` with released checkpoints, from the command line."""

import json
import re

import pytest
import torch
from safetensors.torch import load_file, save_file

from lit_video.__main__ import main
from lit_video.experiment.recorded import run_settings
from lit_video.modules import TimeSformer
from lit_video.runs.folder import read_finished
from lit_video.settings.flags import UserSetting
from tests.conftest import FOUR_SKILLS

TABLE = ["--config", "experiments/timesformer_schemes.yaml", "--row", "divided"]


@pytest.fixture
def released(fitted, made_once):
    """Folder of a trained row, and its weights under Hugging Face's names."""
    run = fitted("timesformer_schemes", "divided", "--data.image_size=32")

    def export(folder):
        assert main(["export", "--to", "hf-timesformer", "--ckpt", str(run / "last.ckpt"), "-o", str(folder)]) == 0

    return run, made_once("released", export) / "model.safetensors"


def recorded_flags(run):
    """Return the flags of a run's model and data."""
    settings = run_settings(run / "run.json")
    return [UserSetting(key, settings[key]).flag for key in ("data", "model")]


def test_released_weights_are_tested_like_the_checkpoint_that_they_come_from(released, capfd):
    run, weights = released
    expected = read_finished(run).result.metrics["test/video_top1"]
    assert main(["test", *recorded_flags(run), "--model.weights", str(weights)]) == 0
    printed = capfd.readouterr().out
    assert float(re.search(r"test/video_top1\D*([\d.]+)", printed)[1]) == pytest.approx(expected, abs=5e-3)


def test_training_starts_from_them_with_a_new_classifier_and_the_test_does_not_load_them_again(
    released, tiny, tmp_path, monkeypatch, capfd
):
    _, weights = released
    tensors, tested = load_file(weights), []
    for leaf in ("weight", "bias"):
        tensors[f"classifier.{leaf}"] = torch.zeros_like(torch.cat([tensors[f"classifier.{leaf}"]] * 2))
    save_file(tensors, tmp_path / "sixteen.safetensors")
    monkeypatch.setattr(TimeSformer, "on_test_start", lambda self: tested.append(self.network.norm.weight.clone()))
    flags = [*tiny, *FOUR_SKILLS, "--data.image_size=32", "--trainer.max_epochs=1", "--trainer.logger=false"]
    start = [*flags, f"--model.weights={tmp_path / 'sixteen.safetensors'}"]
    assert main(["fit", *TABLE, "--runs", str(tmp_path / "again"), *start]) == 0
    assert "".join(capfd.readouterr()).count("it has no classifier of these classes: the classifier starts") == 1
    again = tmp_path / "again" / "timesformer_schemes" / "embedded" / "divided" / "seed0"
    trained = torch.load(again / "last.ckpt", weights_only=False)["state_dict"]["network.norm.weight"]
    assert not torch.equal(trained, tensors["timesformer.layernorm.weight"])
    assert torch.equal(tested[0].cpu(), trained)


def test_the_configuration_in_a_folder_is_held_against_model_and_data(released, tmp_path, capfd):
    run, weights = released
    (tmp_path / "model.safetensors").write_bytes(weights.read_bytes())
    stored = json.loads((weights.parent / "config.json").read_text())
    labels = stored["id2label"]
    exchanged = {"id2label": labels | {"0": labels["1"], "1": labels["0"]}}
    for change, message in (({"hidden_act": "relu"}, "hidden_act is relu"), (exchanged, "is class 1 of the weights")):
        (tmp_path / "config.json").write_text(json.dumps(stored | change))
        assert main(["test", *recorded_flags(run), "--model.weights", str(tmp_path)]) == 2
        assert message in capfd.readouterr().err
