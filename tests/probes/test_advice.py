"""Test that what a message of a probe tells to do can be done as it says, and goes on."""

import re

import pytest
import torch
from torch import nn

from lit_video.errors import UserError
from lit_video.modules import XViT
from lit_video.modules.classifier import VideoClassifier
from lit_video.network.vit import ViTSize
from lit_video.probes.frozen import ModelOptions, checked_batch
from lit_video.probes.heads import FEWEST_ROUNDS
from lit_video.probes.kept import KeptFeatures
from lit_video.probes.measure import rounds_for
from lit_video.probes.sources import frozen_model, last_layer
from lit_video.probes.videos import ProbeVideos
from tests.probes.conftest import CLIP, mean_colours, still
from tests.probes.test_entries import Small

CLIPS = torch.randint(0, 256, (2, 8, 3, 32, 32), dtype=torch.uint8)
FORMAT = {name: CLIP[name] for name in ("num_frames", "image_size")}


def colours_of(*layers):
    """Return a module of the mean colours and more layers."""
    return nn.Sequential(nn.AdaptiveAvgPool3d(1), nn.Flatten(), *layers)


def features(source, **options):
    """Return a model's checked features of two clips."""
    model = frozen_model(source, ModelOptions(**CLIP, **options))
    with model.in_eval_mode():
        return checked_batch(model, CLIPS, 2)[1]


def kept(source, **options):
    """Return the features of a round, after they were written."""
    model = frozen_model(source, ModelOptions(**CLIP, **options))
    written = KeptFeatures(model, ProbeVideos(CLIP["num_frames"], (32, 32)))
    written.check()
    written.complete([0])
    return written.read(1)


def large(tokens):
    """Return a function whose output is larger than float16 holds."""
    return lambda clips: 1e6 * still(tokens)(clips)


SMALL = XViT(4, **FORMAT, patch_size=16, size=ViTSize(16, 1, 2))
IN_TRAINING = nn.Sequential(nn.Flatten(), nn.Dropout(0.5))  # so many values that no two draws are equal
# a call; the advice; the call after it
TOLD = {
    "eval": (
        lambda: features(lambda clip: IN_TRAINING.train()(clip)),
        "call .eval() on it",
        lambda: features(lambda clip: IN_TRAINING.eval()(clip)),
    ),
    "large tokens": (
        lambda: kept(large(tokens=True), tokens=True),
        "leave out the tokens",
        lambda: kept(large(tokens=False)),
    ),
    "tokens of timm": (
        lambda: features("timm:resnet10t", tokens=True, random_weights=True),
        "give a function from clips to (B, N, D)",
        lambda: features(still(tokens=True), tokens=True),
    ),
    "tokens of a network": (
        lambda: features(VideoClassifier(Small(), num_classes=4), tokens=True),
        "leave out --tokens",
        lambda: features(VideoClassifier(Small(), num_classes=4)),
    ),
    "random weights": (
        lambda: features(SMALL, random_weights=True),
        "give it with random weights in place of random_weights",
        lambda: features(SMALL),
    ),
    "values of training": (
        lambda: frozen_model(mean_colours, ModelOptions(**FORMAT)),
        "give the values with which it was trained",
        lambda: frozen_model(mean_colours, ModelOptions(**CLIP)),
    ),
    "no linear layer": (
        lambda: last_layer(colours_of(), "mine"),
        "give a function from clips to features",
        lambda: features(mean_colours),
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_a_message_on_a_model_says_goes_on(case):
    call, advice, then = TOLD[case]
    with pytest.raises(UserError, match=re.escape(advice)):
        call()
    assert then() is not None


def test_the_least_minutes_are_given_as_told():
    with pytest.raises(UserError, match="the least, take") as error:
        rounds_for(1, 60.0, 1.0)
    (least,) = re.findall(r"take ([\d.]+)$", str(error.value))
    assert rounds_for(float(least), 60.0, 1.0) == FEWEST_ROUNDS
