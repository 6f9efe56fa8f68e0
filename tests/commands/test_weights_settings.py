"""Test X-ViT's released weights in a model with other settings or pixels: refused with the flags to change."""

import pytest
import torch

from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
from lit_video.weights.authors import CONSENSUS, XVIT
from lit_video.weights.hub import releases
from lit_video.weights.mapping import new_name
from lit_video.weights.reading import StoredWeights
from lit_video.weights.settings import (
    channel_pixels,
    model_settings,
    pixel_settings,
    refuse_other_pixels,
    refuse_other_settings,
)

SIZE = ViTSize(16, 2, 4)
RELEASED = dict(scope="full", num_frames=4, image_size=32, size=SIZE, patch_size=8)


def named_as_released(network):
    """Return the parameters of an X-ViT under the release's names."""
    back = {name: key for key, name in (XVIT | CONSENSUS).items() if key != "base_model.head"}
    weights = {new_name(key, back): value for key, value in network.state_dict().items()}
    weights["base_model.temp_embed"] = weights["base_model.temp_embed"][:, :, None]
    return weights


def release(classes, **changes):
    """Return random weights of an X-ViT under the release's names."""
    torch.manual_seed(0)
    network = XViT(num_classes=classes, **RELEASED | changes).network
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return named_as_released(network)


@pytest.mark.parametrize(
    ("classes", "changes", "flags"),
    [
        (174, dict(scope="per_head"), "--model.scope full"),
        (174, dict(ratio=0.25), "--model.ratio 0.5"),
        (174, dict(window=0, scope="per_head"), "--model.window 1 --model.scope full"),
        (174, dict(mixed=("key",)), "--model.mixed [key,value]"),
        (174, dict(layers="first_half"), "--model.layers all"),
        (174, dict(summary=True), "--model.summary false"),
        (174, dict(summary=True, summary_layers=[1]), "--model.summary false"),
        (174, dict(segments=2), "--model.segments null"),
        (400, dict(num_frames=16, ratio=0.25), "--model.segments 8"),
        (600, dict(num_frames=16, segments=8), "--model.ratio 0.25"),
        (174, dict(num_frames=16, segments=8), "--model.segments null"),
        (174, dict(exact=True), "--model.exact false"),
    ],
)
def test_other_settings_are_refused_with_the_flags_that_mend_them(classes, changes, flags):
    hparams = XViT(num_classes=classes, **RELEASED | changes).hparams
    with pytest.raises(ValueError, match="it was trained with other settings") as refusal:
        refuse_other_settings(hparams, StoredWeights(release(classes)))
    assert f": set {flags}" in str(refusal.value)


@pytest.mark.parametrize(
    ("classes", "changes"),
    [
        (174, {}),
        (174, dict(num_frames=16)),
        (400, dict(num_frames=16, ratio=0.25, segments=8)),
        (600, dict(num_frames=8, ratio=0.25)),
    ],
)
def test_the_release_s_own_settings_are_taken(classes, changes):
    refuse_other_settings(XViT(num_classes=classes, **RELEASED | changes).hparams, StoredWeights(release(classes)))


def test_of_other_classes_ratio_and_segments_are_not_known():
    weights = StoredWeights(release(8))
    assert not {"ratio", "segments"} & model_settings(weights).keys()
    told = r"8: their ratio and segments are not known; set them as in training, with --model.weights_settings ignore"
    with pytest.raises(ValueError, match=told):
        refuse_other_settings(XViT(num_classes=8, **RELEASED).hparams, weights)


def test_other_sources_say_all_by_their_names():
    assert model_settings(StoredWeights({"Transformer/encoderblock_0/LayerNorm_0/scale": torch.ones(2)})) == {}
    assert model_settings(StoredWeights({"anything": torch.ones(2)})) == {}


def stored(source, classes=None, **preprocessor):
    """Return weights with the names of a source, and a classifier if ``classes`` is given."""
    names = {
        "timesformer": ("model.blocks.0.temporal_norm1.weight", "model.head.bias"),
        "xvit": ("base_model.norm.weight", "base_model.new_fc.bias"),
        "scenic-vivit": ("Transformer/encoderblock_0/LayerNorm_0/scale", "output_projection/bias"),
        "hf-vivit": ("vivit.embeddings.cls_token", "classifier.bias"),
    }[source]
    tensors = {names[0]: torch.ones(4)} | ({} if classes is None else {names[1]: torch.ones(classes)})
    return StoredWeights(tensors, preprocessor=preprocessor)


MEAN_STD = dict(image_mean=[0.4, 0.4, 0.4], image_std=[0.2, 0.2, 0.2])


@pytest.mark.parametrize(
    ("weights", "settings"),
    [
        (stored("xvit", 174), dict(mean=0.5, std=0.5)),
        (stored("scenic-vivit", 400), dict(mean=0.5, std=0.5)),
        (stored("timesformer"), dict(mean=0.45, std=0.225)),
        (stored("timesformer", 48), dict(mean=0.45, std=0.225)),
        (stored("timesformer", 400), dict(mean=0.45, std=0.225, channels="rgb")),
        (stored("timesformer", 174), dict(mean=0.45, std=0.225, channels="bgr")),
        (stored("hf-vivit", 400), {}),
        (stored("hf-vivit", **MEAN_STD), dict(mean=0.4, std=0.2)),
        (stored("hf-vivit", **MEAN_STD, offset=True), {}),
        (stored("hf-vivit", **MEAN_STD, do_normalize=False), {}),
    ],
)
def test_what_pixels_weights_saw(weights, settings):
    assert pixel_settings(weights) == settings
    data = dict(mean=0.5, std=0.5, channels="rgb")
    refuse_other_pixels(data | settings, weights)
    if settings.items() <= data.items():
        return refuse_other_pixels(data, weights)
    with pytest.raises(ValueError, match=r"trained on other pixels: set --data\.mean 0\.4"):
        refuse_other_pixels(data, weights)


def test_channels_of_different_means_are_no_setting_but_are_known():
    weights = stored("hf-vivit", image_mean=[0.4, 0.5, 0.4], image_std=[0.2, 0.2, 0.2])
    assert pixel_settings(weights) == {}
    assert channel_pixels(weights) == ([0.4, 0.5, 0.4], [0.2, 0.2, 0.2])


def test_every_release_of_the_list_sees_what_it_saw():
    for name, release in releases().items():
        source, classes = name.split("-")[0], {"SomethingV2": 174, "Kinetics400": 400, "Kinetics600": 600}
        if source in ("xvit", "timesformer") and release.address:
            settings = pixel_settings(stored(source, classes.get(release.settings["data"])))
            given = {key: release.settings.get(f"data.{key}", "rgb") for key in settings}
            assert given == settings, name
