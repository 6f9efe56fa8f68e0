"""Weights of a run of ours in another model, or for other videos: refused with the flags that mend it, or mended."""

import pytest

from lit_video.__main__ import main
from lit_video.modules import ConvNet, ViViT, XViT
from lit_video.network.vit import ViTSize
from lit_video.weights.reading import StoredWeights
from lit_video.weights.settings import model_settings, refuse_another_grid, refuse_other_settings
from tests.conftest import FOUR_SKILLS

TEST = ["test", "--config", "experiments/ablation_tw.yaml", "--model.image_weights=null"]
SIZE = ViTSize(16, 2, 2)


@pytest.fixture(params=["last.ckpt", pytest.param("model.safetensors", marks=pytest.mark.slow)])
def weights(request, fitted, tiny, capfd):
    """A trained window of 1, its flags, and its checkpoint or what was exported of it."""
    folder = fitted("ablation_tw", "tw1")
    assert main(["export", "--to", "safetensors", "--ckpt", str(folder / "last.ckpt"), "-o", str(folder)]) == 0
    capfd.readouterr()
    return [*tiny, FOUR_SKILLS, f"--model.weights={folder / request.param}", "--model.ta_layers=0"]


def test_other_settings_are_refused_or_taken(weights, capfd):
    assert main([*TEST, *weights]) == 0
    right = [line for line in capfd.readouterr().out.splitlines() if "test/" in line]
    changes = {
        "--model.window=2": "it was trained with other settings: set --model.window 1, or --model.weights_settings",
        "--model.mixed=[key]": "set --model.mixed [key,value], or",
        "--model.size.heads=1": "set --model.size.heads 2, or",
        "--data.mean=0.4": "it was trained on other pixels: set --data.mean 0.5, or",
    }
    for change, mend in changes.items():
        assert main([*TEST, *weights, change]) == 2, change
        assert mend in capfd.readouterr().err
    assert main([*TEST, *weights, *changes, "--model.weights_settings=apply"]) == 0
    assert [line for line in capfd.readouterr().out.splitlines() if "test/" in line] == right
    assert main([*TEST, *weights, "--model.window=2", "--model.weights_settings=ignore"]) == 0


def test_classes_in_another_order_are_refused(weights, capfd):
    assert main([*TEST, *weights, "--data.skills=[zoom,drift,rotation,meeting]"]) == 2
    assert "'zoom shrinking' is class 2 of the weights and class 0 of the data" in capfd.readouterr().err


def test_a_checkpoint_is_not_tested_with_other_settings(weights, capfd):
    checkpoint = weights[-2].removeprefix("--model.weights=").replace("model.safetensors", "last.ckpt")
    command = [*TEST, *weights[:-2], "--model.ta_layers=0", f"--ckpt={checkpoint}"]
    assert main(command) == 0
    for change, mend in (
        ("--model.window=2", "the checkpoint does not fit: it was trained with other settings: set --model.window 1"),
        ("--data.std=0.4", "it was trained on other pixels: set --data.std 0.5, or --model.weights_settings ignore"),
        ("--data.skills=[zoom,drift,rotation,meeting]", "'zoom shrinking' is class 2 of the weights"),
    ):
        assert main([*command, change]) == 2, change
        assert mend in capfd.readouterr().err
    assert main([*command, "--model.window=2", "--model.weights_settings=ignore"]) == 0


def test_several_values_may_stand_in_any_order():
    stored = StoredWeights({}, model={"mixed": ["value", "key"], "layers": [2, 0], "lr": 1.0})
    assert model_settings(stored) == {"mixed": ("key", "value"), "layers": (0, 2)}
    refuse_other_settings({"mixed": ("key", "value"), "layers": [0, 2]}, stored)
    with pytest.raises(ValueError, match=r"set --model\.layers \[0,2\]"):
        refuse_other_settings({"mixed": ("key", "value"), "layers": "all"}, stored)


@pytest.mark.parametrize("size", [ViTSize(16, 2, 4), {"width": 16, "depth": 2, "heads": 4}])
def test_another_number_of_heads_has_the_same_shapes_and_is_refused(size):
    stored = StoredWeights({}, model={"size": size})
    for same in (stored, StoredWeights({}, model=model_settings(stored))):  # a checkpoint, and what was exported of it
        refuse_other_settings({"size": ViTSize(16, 2, 4)}, same)
        refuse_other_settings({"architecture": "i3d"}, same)
        with pytest.raises(ValueError, match=r"set --model\.size\.heads 4,"):
            refuse_other_settings({"size": ViTSize(16, 2, 2)}, same)
    with pytest.raises(ValueError, match=r"set --model\.size\.heads 12,"):
        refuse_other_settings({"size": ViTSize(768, 12, 8)}, StoredWeights({}, model={"size": "B"}))


@pytest.mark.parametrize(
    ("network", "mend"),
    [
        (XViT(3, 4, (16, 64), SIZE, 8).network, r"set --data\.frames 4 --data\.image_size 32, or"),
        (
            ViViT(3, 8, (16, 32), SIZE, 8).network,
            r"of 2 x 4 x 4 .* 4 x 2 x 4: set --data\.frames 4 --data\.image_size 32, or",
        ),
    ],
)
def test_positions_of_another_grid_of_as_many_patches_are_refused(network, mend):
    """The shapes are the same."""
    clips = {"frames": 4, "image_size": 32, "mean": 0.5, "std": 0.5}
    with pytest.raises(ValueError, match=mend):
        refuse_another_grid(network, StoredWeights({}, clips=clips))
    for same in (
        XViT(3, 8, 32, SIZE, 8, positions="space"),
        ViViT(3, 4, 32, SIZE, 8),
        ConvNet(3, 8, 64, "slow", width=8),
    ):
        refuse_another_grid(same.network, StoredWeights({}, clips=clips))
    none = XViT(3, 4, (16, 64), SIZE, 8, positions="none").network
    refuse_another_grid(none, StoredWeights({}, clips=clips))
