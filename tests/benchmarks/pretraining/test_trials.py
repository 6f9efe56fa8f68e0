"""Test the pretraining on drawn videos: its plan, and legs that go on where the last one stopped."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
import yaml
from torch import nn

from benchmarks.pretraining.legs import LAST, RECORD, train
from benchmarks.pretraining.release import WEIGHTS, release
from benchmarks.pretraining.targets import MeanPatch
from benchmarks.pretraining.transfer import features_of, random_features, trained_features, transfer
from benchmarks.pretraining.trials import PLAN, read_trial
from lit_video.attention import Grid
from lit_video.errors import UserError
from lit_video.inference.predict import load
from tests.conftest import ROOT, quick_or_slow

RECORDS = ROOT / "benchmarks/results/pretraining"
TINY = {
    "data": {"num_frames": 2, "image_size": 16, "batch_size": 4, "num_workers": 0, "epoch_length": 8, "val_length": 4},
    "model": {"size": {"embed_dim": 8, "depth": 1, "num_heads": 2}, "patch_size": 8, "window": 1},
}


def tiny(name="small_labels"):
    """Return a trial of six steps in three epochs."""
    trial = read_trial(PLAN, name)
    data = TINY["data"] | {"tasks": ["motion"]}
    if trial.target == "flow":
        data["flow"] = 8
    return replace(trial, clips=24, data=data, model=TINY["model"])


def weights(folder):
    """Return the weights of a trial's last checkpoint."""
    return torch.load(folder / LAST, weights_only=True)["state_dict"]


def test_every_trial_of_the_plan_can_be_built():
    for name in yaml.safe_load(PLAN.read_text())["trials"]:
        trial = read_trial(PLAN, name)
        assert trial.steps > 0
        with torch.device("meta"):
            model = trial.network()
        assert set(model.num_classes) == set(trial.data["tasks"])


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.json")), ids=lambda path: path.stem)
def test_records_are_of_trials_of_the_plan_that_ran_to_their_end(path):
    record = json.loads(path.read_text())
    trial = read_trial(PLAN, path.stem)
    assert record["trial"] == json.loads(json.dumps(asdict(trial)))
    assert record["step"] == trial.steps


def test_an_unknown_trial_is_refused():
    with pytest.raises(UserError, match="smal_pixels"):
        read_trial(PLAN, "smal_pixels")


@pytest.mark.parametrize("name", quick_or_slow(["small_labels", "small_pixels", "flow"], {"small_labels"}))
def test_legs_end_with_the_weights_of_one_training(name, tmp_path):
    train(tiny(name), tmp_path / "whole", minutes=10)
    for _ in range(6):
        train(tiny(name), tmp_path / "legs", minutes=0)
    record = json.loads((tmp_path / "legs" / RECORD).read_text())
    assert (record["step"], record["steps"]) == (6, 6)
    assert record["metrics"]
    whole = weights(tmp_path / "whole")
    legs = weights(tmp_path / "legs")
    assert all(torch.equal(whole[name], legs[name]) for name in whole)


def test_features_of_other_clips_or_models_are_not_compared(tmp_path):
    names = ["small", "stem_flow"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / WEIGHTS).touch()
    with pytest.raises(UserError, match="stem_flow and small differ"):
        transfer(names, tmp_path, videos=tmp_path, output=None)


def test_missing_weights_are_named(tmp_path):
    with pytest.raises(UserError, match=f"{tmp_path}/small/{WEIGHTS}: no such file"):
        transfer(["small"], tmp_path, videos=tmp_path, output=None)


def normalised(clips):
    return ((clips.float() / 255 - 0.5) / 0.5).transpose(1, 2)


def test_released_weights_give_the_features_of_the_training(tmp_path):
    trial = tiny("small_pixels")
    train(trial, tmp_path / trial.name, minutes=10)
    release(trial, tmp_path, tmp_path / "out")

    clips = torch.randint(0, 256, (3, 2, 3, 16, 16), dtype=torch.uint8)
    drawn = random_features(trial, clips)
    released = trained_features(trial, tmp_path / "out" / WEIGHTS, clips)
    assert list(drawn) == ["random weights", "random weights, mean patch"]
    assert list(released) == ["small_pixels", "small_pixels, mean patch"]
    assert {features.shape for features in [*drawn.values(), *released.values()]} == {(3, 8)}

    model = trial.network()
    model.load_state_dict(weights(tmp_path / trial.name))
    trained = features_of(model, clips)
    assert np.allclose(trained[""], model.eval().forward_features(normalised(clips)).detach(), atol=1e-6)
    assert np.allclose(released["small_pixels, mean patch"], trained[", mean patch"], atol=0.02)
    assert not np.allclose(drawn["random weights, mean patch"], trained[", mean patch"], atol=0.02)


def test_released_weights_load_in_half_precision_and_with_a_card(tmp_path):
    trial = tiny("flow")
    train(trial, tmp_path / "flow", minutes=10)
    release(trial, tmp_path, tmp_path / "out")
    trained = weights(tmp_path / "flow")
    loaded = load(tmp_path / "out/model.safetensors").model.state_dict()
    assert all(torch.equal(value, trained[name].half().float()) for name, value in loaded.items())
    assert "24, each shown once" in (tmp_path / "out/README.md").read_text()


def test_the_mean_patch_leaves_class_tokens_out():
    tokens = torch.arange(2 * 2 * 5 * 3.0).view(2, 10, 3)  # two frames of one class token and four patches
    read = MeanPatch()(tokens, Grid(2, 2, 2), nn.Identity())
    assert torch.equal(read[0], torch.stack([tokens[0, 1:5].mean(0), tokens[0, 6:].mean(0)]))


def test_a_masked_patch_does_not_see_its_own_pixels():
    model = tiny("small_pixels").network()
    clip = torch.randn(2, 3, 2, 16, 16)
    torch.manual_seed(3)
    order = torch.rand(2, 4).argsort(1)
    hidden = order < round(model.masked * 4)
    torch.manual_seed(3)
    seen = []
    model.network.embed.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    model.loss_of(clip)
    patches = seen[0].unfold(3, 8, 8).unfold(4, 8, 8).abs().amax((1, 2, 5, 6)).flatten(1)
    assert torch.equal(patches == 0, hidden)
