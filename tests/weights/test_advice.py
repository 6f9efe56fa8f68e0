"""Test that what a message on weights tells to do can be done as it says, and goes on."""

import re

import pytest
import torch
import yaml
from timm.models.vision_transformer import VisionTransformer

from lit_video.errors import UserError
from lit_video.experiment.request import build_request
from lit_video.experiment.spec import Spec
from lit_video.modules import TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize
from lit_video.settings.flags import read_flags
from lit_video.training.check import checked
from lit_video.weights.image_vit import load_image_vit
from lit_video.weights.loading import load_pretrained
from lit_video.weights.reading import StoredWeights, read_weights
from lit_video.weights.settings import refuse_another_grid, refuse_other_pixels, refuse_other_settings
from tests.commands.test_weights_settings import RELEASED, release, stored
from tests.conftest import ROOT

SMALL = {"num_frames": 4, "image_size": 16, "size": ViTSize(16, 1, 2), "patch_size": 8}
PIXELS = {"mean": 0.5, "std": 0.5, "channels": "rgb"}


def flags_in(error):
    """Return the settings that a message tells to set."""
    told = re.findall(r"--(?:model|data)\.(\w+) (\S+?),?(?= |$)", str(error).partition(", or ")[0])
    return {name: yaml.safe_load(value) for name, value in told}


def image_vit(**options):
    """Return the weights of a small image model of timm."""
    sizes = dict(img_size=16, patch_size=8, embed_dim=16, depth=1, num_heads=2, num_classes=0)
    return VisionTransformer(**sizes | options).state_dict()


NO_TOKEN = {"class_token": False, "global_pool": "avg", "fc_norm": False}
# a ViViT's pool, the image model; the advice; the pools that it names
POOLS = {
    "no class token": (
        "token",
        NO_TOKEN,
        "give --model ViViT --model.pool mean",
        ["mean"],
    ),
    "a norm of a mean": ("fc_norm", {}, "give mean or token", ["mean", "token"]),
}


@pytest.mark.parametrize("case", POOLS)
def test_an_image_model_starts_a_network_with_the_pool_that_is_told(case):
    pool, options, advice, told = POOLS[case]
    with pytest.raises(ValueError, match=re.escape(advice)):
        load_image_vit(ViViT(4, pool=pool, **SMALL).network, image_vit(**options))
    for other in told:
        assert load_image_vit(ViViT(4, pool=other, **SMALL).network, image_vit(**options))


@pytest.mark.parametrize(
    ("table", "row"), [("ablation_tw", "tw1"), ("vivit_models", "model1"), ("vivit_models", "model2")]
)
def test_an_image_model_without_a_class_token_starts_a_row_with_the_flags_that_are_told(table, row, tmp_path):
    file = tmp_path / "image.pth"
    torch.save(image_vit(**NO_TOKEN, embed_dim=48, depth=4, num_heads=4), file)
    flags = ["--data.root", str(tmp_path), "--model.image_weights", str(file)]

    def check(*more):
        words = [*flags, *more]
        settings = read_flags(f"{name}={value}" for name, value in zip(words[::2], words[1::2], strict=True))
        run = build_request([ROOT / f"experiments/{table}.yaml"], [row], user_settings=settings).runs[0]
        return checked(Spec(run)).model

    with pytest.raises(UserError, match="no class token") as error:
        check()
    model = check(*str(error.value).partition("give ")[2].split())
    assert isinstance(model, ViViT) and model.hparams["pool"] == "mean"


@pytest.mark.parametrize("kind", ["self", "cross"])
def test_the_temporal_attention_is_set_as_told(kind):
    weights = XViT(4, ta_attention=kind, **SMALL).network.state_dict()
    other = {"self": "cross", "cross": "self"}[kind]
    with pytest.raises(ValueError, match="its temporal attention is") as error:
        load_pretrained(XViT(4, ta_attention=other, **SMALL).network, weights)
    load_pretrained(XViT(4, **flags_in(error.value), **SMALL).network, weights)
    assert flags_in(error.value) == {"ta_attention": kind}


def test_a_whole_model_or_several_sets_are_saved_anew_as_told(tmp_path):
    model, file = XViT(4, **SMALL).network, tmp_path / "weights.pth"
    torch.save(model, file)
    with pytest.raises(UserError, match=re.escape("save the model's state_dict()")):
        read_weights(file)
    weights = model.state_dict()
    torch.save({"student_of_mine": weights, "teacher_of_mine": weights}, file)
    with pytest.raises(UserError, match="save the one that is meant alone"):
        read_weights(file)
    torch.save(weights, file)
    assert read_weights(file).tensors.keys() == weights.keys()


OTHER = {
    "one": (174, {"scope": "per_head"}),
    "several": (174, {"window": 0, "scope": "per_head"}),
    "a list": (174, {"mixed": ("key",)}),
    "none": (174, {"segments": 2}),
}


@pytest.mark.parametrize("case", OTHER)
def test_settings_of_the_training_are_set_as_told(case):
    classes, changes = OTHER[case]
    weights = StoredWeights(release(classes))
    with pytest.raises(ValueError, match="it was trained with other settings") as error:
        refuse_other_settings(XViT(classes, **RELEASED | changes).hparams, weights)
    refuse_other_settings(XViT(classes, **RELEASED | changes | flags_in(error.value)).hparams, weights)


def test_pixels_of_the_training_are_set_as_told():
    weights = stored("timesformer", 174)
    with pytest.raises(ValueError, match="it was trained on other pixels: set ") as error:
        refuse_other_pixels(PIXELS, weights)
    refuse_other_pixels(PIXELS | flags_in(error.value), weights)
    assert len(flags_in(error.value)) == 3


def test_classes_of_the_training_are_used_as_told():
    weights = StoredWeights({}, model=dict(XViT(5, **SMALL).hparams))
    with pytest.raises(ValueError, match="use data with its classes"):
        refuse_other_settings(XViT(4, **SMALL).hparams, weights, "", "shape")
    refuse_other_settings(XViT(5, **SMALL).hparams, weights, "", "shape")


def test_the_grid_of_the_training_is_set_as_told():
    model = TimeSformer(4, **SMALL)
    weights = StoredWeights(model.network.state_dict(), model=dict(model.hparams))
    wide = SMALL | {"image_size": (8, 32)}
    with pytest.raises(ValueError, match=r"its positions are of .*: set --data") as error:
        refuse_another_grid(TimeSformer(4, **wide).network, weights)
    refuse_another_grid(TimeSformer(4, **wide | flags_in(error.value)).network, weights)
