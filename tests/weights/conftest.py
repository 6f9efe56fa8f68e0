"""Fixtures and models of tests against other programs."""

import pytest
import torch
from timm.models.vision_transformer import VisionTransformer

from lit_video.weights.image_vit import on_meta


@pytest.fixture(autouse=True)
def timm_anew():
    """Forget the models that timm built for other tests: some replace them by their own."""
    on_meta.cache_clear()
    yield
    on_meta.cache_clear()


@pytest.fixture
def in_float64():
    """Default dtype float64."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def randomised(model):
    """Make every parameter random: zeros and ones would hide parameters that are not loaded."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model.eval()


def image_vit():
    """Return a small ViT of timm."""
    return randomised(VisionTransformer(img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=4, num_classes=7))


def double(state_dict):
    return {key: value.double() for key, value in state_dict.items()}
