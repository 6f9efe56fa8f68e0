"""Names that users of timm look for, and clips of another layout."""

import pytest
import torch

from lit_video.modules import TimeSformer, XViT
from lit_video.network.vit import ViTSize

CLIP = dict(frames=4, image_size=16, size=ViTSize(16, 1, 2), patch=8)


def test_features_and_a_new_classifier():
    model, clip = XViT(5, **CLIP).eval(), torch.randn(2, 3, 4, 16, 16)
    features = model.forward_features(clip)
    assert features.shape == (2, model.num_features) and features.requires_grad
    model.reset_classifier(3)
    assert model(clip).shape == (2, 3) and model.num_classes == model.hparams["num_classes"] == 3
    torch.testing.assert_close(model.forward_features(clip), features)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 4, 3, 16, 16), r"is \(2, 4, 3, 16, 16\), expected \(batch, 3 colours, 4, height, width\); clip.transpose"),
        ((2, 3, 8, 16, 16), r"is \(2, 3, 8, 16, 16\), expected \(batch, 3 colours, 4, height, width\)$"),
        ((3, 4, 16, 16), "expected .batch"),
    ],
)
def test_a_clip_of_another_layout_or_length_is_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        TimeSformer(5, **CLIP)(torch.randn(shape))
