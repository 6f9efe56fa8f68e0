"""Test files of weights in common forms: the one state dict is found, several are named."""

import argparse
import datetime
import subprocess
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from lightning import Trainer

import lit_video
from lit_video.errors import UserError
from lit_video.modules import TimeSformer, XViT
from lit_video.network.vit import ViTSize
from lit_video.weights.hub import weights_path
from lit_video.weights.reading import read_weights
from tests.checkpoints import QUIET

TOKENS = dict(num_classes=2, num_frames=4, image_size=16, patch_size=8, size=ViTSize(16, 1, 2))
MODEL = TimeSformer(**TOKENS)
STATE = MODEL.network.state_dict()
OPTIMIZER = torch.optim.AdamW(MODEL.parameters())
OPTIMIZER.step()


@pytest.mark.parametrize(
    "content",
    [
        {"model_state_dict": STATE, "optimizer_state_dict": OPTIMIZER.state_dict(), "epoch": 3, "loss": 0.5},
        {"model_state_dict": STATE},
        {"net": STATE, "acc": 50.0},
        {"backbone": {f"module.{name}": value for name, value in STATE.items()}, "epoch": 1},
        {"trainer": {"encoder": STATE, "step": 3}},
        {"generator_weights": STATE, "optim": OPTIMIZER.state_dict(), "best": np.float64(3.5)},
        {"state_dict": STATE, "best": np.float32(1), "count": np.int64(3), "rates": np.arange(3.0)},
        {
            "state_dict": STATE,
            "path": Path("a") / "b",
            "when": datetime.datetime(2020, 1, 1),
            "args": argparse.Namespace(),
        },
    ],
)
def test_the_one_state_dict_is_found(content, tmp_path):
    torch.save(content, tmp_path / "a.pth")
    found = read_weights(tmp_path / "a.pth").tensors
    assert found.keys() == STATE.keys() and all(torch.equal(found[name], STATE[name]) for name in STATE)


@pytest.mark.parametrize("keys", [("student", "teacher"), ("net", "momentum_net"), ("discriminator", "generator")])
def test_several_are_named(keys, tmp_path):
    torch.save({key: STATE for key in keys} | {"epoch": 1}, tmp_path / "a.pth")
    with pytest.raises(UserError, match=", ".join(keys)):
        read_weights(tmp_path / "a.pth")


@pytest.mark.parametrize("beside", [subprocess.run, print, MODEL.network])
def test_other_things_beside_the_weights_are_still_refused(beside, tmp_path):
    torch.save({"state_dict": STATE, "beside": beside}, tmp_path / "a.pth")
    with pytest.raises(UserError, match="nothing of it was run"):
        read_weights(tmp_path / "a.pth")


def test_a_checkpoint_without_a_data_module_is_a_model(tmp_path):
    model, run = TimeSformer(**TOKENS), Trainer(max_epochs=1, accelerator="cpu", **QUIET)
    clips = [(torch.randn(3, 4, 16, 16), i) for i in range(2)]
    run.fit(model, torch.utils.data.DataLoader(clips, batch_size=2))
    run.save_checkpoint(tmp_path / "a.ckpt")
    found, clip = lit_video.from_pretrained(tmp_path / "a.ckpt"), torch.randn(2, 3, 4, 16, 16)
    assert type(found) is TimeSformer and torch.equal(found(clip), model.eval()(clip))
    with pytest.raises(UserError, match="class names"):
        lit_video.load(tmp_path / "a.ckpt")


@pytest.mark.parametrize(
    ("setting", "advice"),
    [
        ("facebook/timesformer-base-finetuned-k400", "hub:hf-timesformer-k400"),
        ("timesformer-k400", "hub:timesformer-k400"),
        ("timm/vit_base_patch16_224.augreg_in21k", "timm:vit_base_patch16_224.augreg_in21k"),
        ("google/some-model", "hf download google/some-model"),
    ],
)
def test_a_name_that_is_no_file_is_explained(setting, advice):
    with pytest.raises(UserError, match=advice):
        weights_path(setting)


@pytest.mark.parametrize("registers", [0, 4])
def test_an_image_model_without_positions_of_its_class_token(registers, tmp_path):
    kind = dict(img_size=16, patch_size=4, embed_dim=16, depth=1, num_heads=2, num_classes=0, reg_tokens=registers)
    vit = timm.models.VisionTransformer(**kind, no_embed_class=True)
    torch.nn.init.normal_(vit.pos_embed)
    torch.save(vit.state_dict(), tmp_path / "vit.pth")
    size = ViTSize(16, 1, 2, registers=registers or None)
    model = XViT(**TOKENS | dict(patch_size=4, size=size), positions="space", image_weights=str(tmp_path / "vit.pth"))
    model.setup("fit")
    positions = model.network.embed.pos_embed[0]
    torch.testing.assert_close(positions[-16:], vit.pos_embed[0])
    assert not positions[:-16].any()
