"""What models are called when schemes are compared: by family, and what makes another attention of it."""

import pytest
import torch

from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize


@pytest.mark.parametrize(
    ("family", "options", "name"),
    [
        (XViT, {"window": 1, "exact": False}, "X-ViT"),
        (XViT, {"window": 2, "exact": True}, "X-ViT exact"),
        (XViT, {"causal": True, "positions": "space"}, "X-ViT causal"),
        (TimeSformer, {"attention": "local_global"}, "TimeSformer local-global"),
        (ViViT, {"variant": 2, "temporal": "mean"}, "ViViT-2 mean"),
        (ViViT, {"variant": 3, "temporal": "mean"}, "ViViT-3"),  # which has no temporal encoder to leave out
        (ViViT, {}, "ViViT-1"),
        (ConvNet, {"architecture": "slowfast"}, "SlowFast"),
        (Perceiver, {}, "Perceiver"),
    ],
)
def test_a_scheme_is_called_by_family_and_attention(family, options, name):
    if family is not ConvNet:
        options = dict(size=ViTSize(16, 2, 2), frames=4, image_size=32) | options
    with torch.device("meta"):
        assert family(num_classes=2, **options).scheme_name == name
