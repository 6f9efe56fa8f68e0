"""Test names that users of timm look for, names of schemes, and clips of another layout."""

import inspect
import re
import sys

import pytest
import torch
from torch import nn

import lit_video
from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.modules.classifier import VideoClassifier
from lit_video.network.vit import ViTSize

CLIP = dict(num_frames=4, image_size=16, size=ViTSize(16, 1, 2), patch_size=8)


def test_features_and_a_new_classifier():
    model, clip = XViT(5, **CLIP).eval(), torch.randn(2, 3, 4, 16, 16)
    features = model.forward_features(clip)
    assert features.shape == (2, model.num_features) and features.requires_grad
    model.reset_classifier(3)
    assert model(clip).shape == (2, 3) and model.num_classes == model.hparams["num_classes"] == 3
    torch.testing.assert_close(model.forward_features(clip), features)


@pytest.mark.parametrize("family", [Perceiver, TimeSformer, ViViT, XViT])
def test_the_head_of_the_features_gives_the_logits(family):
    model, clip = family(5, **CLIP).eval(), torch.randn(2, 3, 4, 16, 16)
    logits = model(clip)
    torch.testing.assert_close(model.forward_head(model.forward_features(clip)), logits)
    torch.testing.assert_close(model.network.forward_head(model.network.forward_features(clip)), logits)


def test_the_classifier_is_the_last_layer_of_model_and_network():
    model = XViT(5, **CLIP)
    assert model.get_classifier() is model.network.get_classifier() is model.network.aggregate.head[-1]
    assert (model.get_classifier().in_features, model.get_classifier().out_features) == (model.num_features, 5)
    cnn = ConvNet(5, num_frames=4, image_size=32, architecture="x3d", width=8)
    assert cnn.get_classifier() is cnn.network.blocks[-1].proj


def test_tokens_and_positions_have_no_weight_decay():
    model = XViT(5, **CLIP)
    names = {"embed.cls_token", "embed.pos_embed", "embed.temp_embed", "aggregate.cls_token"}
    assert model.network.no_weight_decay() == names
    assert model.no_weight_decay() == {f"network.{name}" for name in names}
    assert "network.blocks.0.latents" in Perceiver(5, **CLIP).no_weight_decay()


def test_checkpointing_is_set_and_stored_under_the_name_of_the_setting():
    model = XViT(5, **CLIP)
    for enable, part in ((True, "block"), ("attention", "attention"), (False, "none")):
        model.set_grad_checkpointing(enable)
        assert {block.checkpointing for block in model.network.blocks} == {part}
        assert model.hparams["activation_checkpointing"] == part
    model.network.set_grad_checkpointing()
    assert model.network.blocks[0].checkpointing == "block"
    with pytest.raises(ValueError, match="layer"):
        model.set_grad_checkpointing("layer")
    with pytest.raises(ValueError, match="activation_checkpointing"):
        ConvNet(5, num_frames=4, image_size=32, architecture="x3d", width=8).set_grad_checkpointing()


@pytest.mark.parametrize(
    ("family", "options", "number"),
    [
        (XViT, {}, 1),
        (TimeSformer, {"size": ViTSize(16, 1, 2, registers=3)}, 4),
        (ViViT, {"variant": 3}, 0),
        (Perceiver, {}, 0),
    ],
)
def test_prefix_tokens_are_class_and_register_tokens(family, options, number):
    network = family(5, **CLIP | options).network
    assert network.num_prefix_tokens == number
    tokens, grid = network.embed(torch.randn(1, 3, 4, 16, 16))
    prefixes = grid.t if family is XViT else 1
    assert tokens.shape[1] == prefixes * number + grid.t * grid.h * grid.w


@pytest.mark.parametrize("option", [dict(order="time_space"), dict(variant=3, temporal="mean")])
def test_a_setting_of_another_variant_is_refused(option):
    with pytest.raises(ValueError, match=r"is for variant [23]"):
        ViViT(4, **CLIP, **option)


def test_a_zero_head_is_refused_where_a_probe_takes_its_place():
    with pytest.raises(ValueError, match=r"zero_head.*probe"):
        ViViT(4, **CLIP, zero_head=True, probe="attentive")


every_transformer = pytest.mark.parametrize("family", [Perceiver, TimeSformer, ViViT, XViT])


@pytest.mark.parametrize(
    "shape", [(2, 4, 3, 16, 16), (3, 4, 16, 16), (4, 3, 16, 16), (2, 4, 16, 16, 3), (4, 16, 16, 3)]
)
@every_transformer
def test_a_clip_of_another_layout_is_refused_with_the_call_that_changes_it(family, shape):
    model, clip = family(5, **CLIP), torch.randn(shape)
    with pytest.raises(ValueError, match=re.escape(str(shape))) as refused:
        model(clip)
    call = re.search(r"; (clip.*) has this shape$", str(refused.value))[1]
    assert model(eval(call, {"clip": clip})).shape[1] == 5


@pytest.mark.parametrize(
    ("shape", "frames"),
    [((2, 3, 8, 16, 16), 8), ((2, 8, 3, 16, 16), 8), ((8, 3, 16, 16), 8), ((1, 3, 16, 16), 1), ((2, 16, 16, 3), 2)],
)
@every_transformer
def test_a_clip_of_another_length_is_refused_without_a_call_that_cannot_help(family, shape, frames):
    with pytest.raises(ValueError, match=rf"it has {frames} frames?, the model takes 4: choose as many$"):
        family(5, **CLIP)(torch.randn(shape))


@pytest.mark.parametrize("shape", [(2, 4, 1, 16, 16), (3, 16, 16), (16,)])  # the width 16 is that of a token too
@every_transformer
def test_a_clip_of_no_known_layout_is_refused_without_advice(family, shape):
    with pytest.raises(ValueError, match=r"expected \(batch, 3 colours, 4, height, width\)$"):
        family(5, **CLIP)(torch.randn(shape))


@pytest.mark.parametrize("family", [Perceiver, TimeSformer, ViViT, XViT])
def test_a_learning_rate_is_one_of_optimization(family):
    with pytest.raises(TypeError, match=r"has no argument lr; .* optimization=Optimization"):
        family(5, lr=0.1, **CLIP)


@pytest.mark.parametrize(
    ("family", "options", "name"),
    [
        (XViT, {"window": 1, "exact": False}, "X-ViT"),
        (XViT, {"causal": True, "positions": "space", "exact": True}, "X-ViT exact causal"),
        (TimeSformer, {"attention_type": "local_global"}, "TimeSformer local-global"),
        (ViViT, {"variant": 2, "temporal": "mean"}, "ViViT-2 mean"),
        (Perceiver, {}, "Perceiver"),
    ],
)
def test_a_scheme_is_called_by_family_and_attention(family, options, name):
    assert family(5, **CLIP, **options).scheme_name == name


@pytest.mark.parametrize("family", [ConvNet, Perceiver, TimeSformer, ViViT, XViT])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"embed_dim": 64}, "has no argument embed_dim"),
        ({"num_classes": 1}, "num_classes is 1: with a single class"),
        ({"task_loss": "max"}, "task_loss is 'max'"),
    ],
)
def test_arguments_are_checked_before_any_part_is_built(family, wrong, message, monkeypatch):
    def build(*parts, **options):
        raise AssertionError("a part is built")

    monkeypatch.setattr(nn.Module, "__init__", build)
    with pytest.raises((TypeError, ValueError), match=message):
        family(**{"num_classes": 4} | wrong)


def test_an_argument_of_the_users_own_class_behind_a_family_is_taken():
    class Tagged(VideoClassifier):
        def __init__(self, *parts, tag, **options):
            super().__init__(*parts, **options)
            self.tag = tag

    class Own(XViT, Tagged):
        pass

    assert Own(5, **CLIP, tag="mine").tag == "mine"
    with pytest.raises(TypeError, match="Own has no argument tg"):
        Own(5, **CLIP, tag="mine", tg=1)


def test_a_misspelt_argument_is_named_with_the_nearest():
    with pytest.raises(TypeError, match=r"XViT has no argument windw \(did you mean window\?\)"):
        XViT(5, **CLIP, windw=2)
    with pytest.raises(TypeError, match=r"no argument task_los \(did you mean task_loss\?\)"):
        Perceiver(5, **CLIP, task_los="sum")


def test_a_trainer_of_the_other_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytorch_lightning", sys)
    with pytest.warns(UserWarning, match="from lightning import Trainer"):
        XViT(5, **CLIP)


def test_what_is_said_on_arguments_of_other_libraries_works_as_it_says():
    with pytest.raises(TypeError, match=r"no argument embed_dim; give size=ViTSize\(embed_dim, depth, num_heads\)"):
        XViT(4, embed_dim=64, **CLIP)
    model = XViT(4, 4, 32, size=ViTSize(64, 2, 2))
    with pytest.raises(TypeError, match=r"no argument pretrained; .*lit_video\.list_models\(\)"):
        XViT(4, pretrained=True, **CLIP)
    assert "timesformer-k400" in lit_video.list_models("timesformer-*")
    with pytest.raises(TypeError, match=r"no argument in_chans; .* clip\.expand\(-1, 3, -1, -1, -1\)"):
        XViT(4, in_chans=1, **CLIP)
    assert model(torch.zeros(2, 1, 4, 32, 32).expand(-1, 3, -1, -1, -1)).shape == (2, 4)


def test_clips_of_another_size_are_mentioned():
    model = XViT(4, 4, 32, size=ViTSize(16, 1, 2))
    with pytest.warns(UserWarning, match="clips of 64 x 64 pixels in a model made for 32 x 32"):
        assert model(torch.zeros(1, 3, 4, 64, 64)).shape == (1, 4)


def test_a_signature_shows_names_of_types():
    shown = str(inspect.signature(XViT))
    assert "num_classes: 'Classes'" in shown and "window: 'Whole' = 1" in shown
