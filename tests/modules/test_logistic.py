"""Test logistic regression as an optimizer: what it writes into the last layer, and what it refuses."""

import numpy as np
import pytest
import torch
from torch import nn

from lit_video.errors import UserError
from lit_video.modules import XViT
from lit_video.modules.logistic import UNSEEN_LOGIT, LogisticRegression, write_classifier
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from lit_video.utils.logistic import fit_head

SMALL = dict(size=ViTSize(16, 1, 2), patch_size=8, num_frames=4, image_size=16)
FROZEN = dict(probe="waves", freeze="backbone")


def test_the_layer_gives_the_regressions_probabilities():
    rng = np.random.default_rng(0)
    labels = np.arange(30) % 3
    features = rng.standard_normal((30, 8)) + labels[:, None]
    head = fit_head(features, labels, np.arange(30), classes=4)

    layer = nn.Linear(8, 4)
    write_classifier(layer, head)
    logits = layer(torch.from_numpy(features).float())
    assert torch.allclose(
        logits.log_softmax(1)[:, :3].double(), torch.from_numpy(head.scores(features)[:, :3]), atol=1e-4
    )
    assert layer.bias[3] == UNSEEN_LOGIT and not layer.weight[3].any()
    assert not (logits.argmax(1) == 3).any(), "no video of this class was seen"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (dict(num_classes=3), "set model.freeze: backbone"),
        (dict(num_classes=3, freeze="backbone", probe="attentive"), "model.probe: waves"),
        (dict(num_classes={"verb": 2, "noun": 2}, **FROZEN), "one label of one task"),
        (dict(num_classes=3, several_labels=True, **FROZEN), "one label of one task"),
    ],
)
def test_other_models_are_refused(model, said):
    with pytest.raises(UserError, match=said):
        LogisticRegression(XViT(**SMALL, **model))


def test_without_videos_of_this_package_it_is_refused():
    model = XViT(**SMALL, num_classes=3, optimization=Optimization("logistic"), **FROZEN)
    with pytest.raises(UserError, match="a data module of this package"):
        LogisticRegression(model).step()
