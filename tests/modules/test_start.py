"""A model whose weights are to come from a file computes nothing before they have."""

import copy

import pytest
import timm
import torch

from lit_video.errors import UserError
from lit_video.modules import XViT

HOW = dict(num_classes=3, frames=2, image_size=32, size="Ti", window=0)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    path = tmp_path_factory.mktemp("image") / "vit.pth"
    torch.save(timm.create_model("vit_tiny_patch16_224", img_size=32).state_dict(), path)
    return path


def test_image_weights_are_loaded_before_the_first_clip_or_it_is_refused(image, tmp_path):
    model, clip = XViT(**HOW, image_weights=str(image)).eval(), torch.zeros(1, 3, 2, 32, 32)
    with pytest.raises(UserError, match=r"vit\.pth is loaded when training starts; call setup\('fit'\)"):
        model(clip)
    model.setup("fit")
    stored = torch.load(image)["blocks.0.attn.proj.weight"]
    assert torch.equal(model.network.blocks[0].scheme.attn.proj.weight, stored)
    logits = model(clip)
    for parameter in model.parameters():
        parameter.data += 0.1
    model.setup("fit")
    assert not torch.equal(model(clip), logits), "trained further"
    # a checkpoint needs the file no more
    trained = XViT(**HOW, image_weights=str(tmp_path / "gone.pth")).eval()
    trained.load_state_dict(model.state_dict())
    trained.setup("fit")
    assert torch.equal(trained(clip), model(clip))
    assert torch.equal(copy.deepcopy(trained)(clip), model(clip))
