"""Test a run's weights in a model with other settings or classes: refused with the flags to change, or adapted."""

import pytest

from lit_video.__main__ import main
from tests.conftest import FOUR_SKILLS

TEST = ["test", "--config", "experiments/ablation_tw.yaml", "--model.image_weights=null"]


@pytest.fixture(params=["last.ckpt", pytest.param("model.safetensors", marks=pytest.mark.slow)])
def weights(request, fitted, tiny, tmp_path, capfd):
    """Flags of a trained model of window 1, with its checkpoint or export as weights."""
    path = fitted("ablation_tw", "tw1") / "last.ckpt"
    if request.param != path.name:
        assert main(["export", "--to", "safetensors", "--ckpt", str(path), "-o", str(tmp_path)]) == 0
        path = tmp_path / request.param
    capfd.readouterr()
    return [*tiny, *FOUR_SKILLS, f"--model.weights={path}", "--model.ta_layers=0"]


@pytest.mark.slow
def test_other_settings_are_refused_or_taken(weights, capfd):
    assert main([*TEST, *weights]) == 0
    right = [line for line in capfd.readouterr().out.splitlines() if "test/" in line]
    changes = {
        "--model.size.num_heads=1": "set --model.size.num_heads 2, or",
        "--data.mean=0.4": "set --data.mean 0.5, or",
    }
    for change, mend in changes.items():
        assert main([*TEST, *weights, change]) == 2, change
        assert mend in capfd.readouterr().err
    changed = [*changes, "--model.window=2", "--model.mixed=[key]"]
    assert main([*TEST, *weights, *changed, "--model.weights_settings=apply"]) == 0
    assert [line for line in capfd.readouterr().out.splitlines() if "test/" in line] == right


def test_classes_in_another_order_are_refused(weights, capfd):
    assert main([*TEST, *weights, "--data.skills=[zoom,drift,rotation,meeting]"]) == 2
    assert "'zoom shrinking' is class 2 of the weights and class 0 of the data" in capfd.readouterr().err


def test_a_checkpoint_is_not_tested_with_other_settings(fitted, tiny, capfd):
    checkpoint = fitted("ablation_tw", "tw1") / "last.ckpt"
    command = [*TEST, *tiny, *FOUR_SKILLS, "--model.ta_layers=0", f"--ckpt={checkpoint}"]
    capfd.readouterr()
    assert main([*command, "--model.window=2"]) == 2
    said = capfd.readouterr().err
    assert "the checkpoint does not fit: it was trained with other settings: set --model.window 1" in said
    assert main([*command, "--model.window=2", "--model.weights_settings=ignore"]) == 0
