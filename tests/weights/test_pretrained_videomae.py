"""Test that VideoMAE, of transformers or of its authors, gives equal logits as ViViT's model 1."""

import re

import pytest
import torch
from einops import rearrange
from transformers import VideoMAEConfig, VideoMAEForPreTraining, VideoMAEForVideoClassification

from lit_video.modules import ViViT
from lit_video.network.vit import ViTSize
from lit_video.weights.hugging_face import check_config
from lit_video.weights.loading import load_pretrained, source_of
from lit_video.weights.reading import StoredWeights
from lit_video.weights.settings import channel_pixels, model_settings, refuse_other_settings
from tests.weights.conftest import randomised

SHAPE = dict(num_frames=6, image_size=(16, 24), patch_size=8, tubelet_size=2)
OPTIONS = dict(pool="fc_norm")
SIZE = ViTSize(32, 3, 4, mlp_ratio=1.5)


def theirs(kind=VideoMAEForVideoClassification, **options):
    config = VideoMAEConfig(
        num_frames=6, image_size=(16, 24), patch_size=8, tubelet_size=2, hidden_size=32, num_hidden_layers=3,
        num_attention_heads=4, intermediate_size=48, num_labels=5, use_mean_pooling=True,
        decoder_hidden_size=16, decoder_num_hidden_layers=1, decoder_num_attention_heads=2, **options,
    )  # fmt: skip
    return randomised(kind(config))


def ours(classes=5, **changes):
    torch.manual_seed(1)
    return ViViT(classes, **SHAPE, **OPTIONS | dict(size=SIZE) | changes).network.eval()


def on_the_hub(weights):
    """Rename to the hub's files, where biases of query and value lie beside them."""
    return {re.sub(r"attention\.(q|v)(uery|alue)\.bias", r"attention.\1_bias", key): w for key, w in weights.items()}


def authors(weights):
    """Rename and rearrange to the authors' modeling_finetune.py."""
    found = {}
    for key, value in on_the_hub(weights).items():
        key = re.sub(r"^videomae\.encoder\.layer\.", "blocks.", key)
        key = key.replace("videomae.embeddings.patch_embeddings.projection", "patch_embed.proj")
        key = key.replace("layernorm_before", "norm1").replace("layernorm_after", "norm2")
        key = key.replace("attention.attention.", "attn.").replace("attention.output.dense", "attn.proj")
        key = key.replace("intermediate.dense", "mlp.fc1").replace("output.dense", "mlp.fc2")
        found[key.replace("classifier", "head")] = value
    for key in [key for key in found if key.endswith("query.weight")]:
        parts = [found.pop(key.replace("query", name)) for name in ("query", "key", "value")]
        found[key.replace("query", "qkv")] = torch.cat(parts)
    assert "blocks.2.attn.q_bias" in found and "blocks.0.attn.qkv.weight" in found
    return found


NAMES = {"transformers": dict, "the hub": on_the_hub, "the authors": authors}


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_logits_are_those_of_transformers(names, dtype, tolerance):
    model, network = theirs(layer_norm_eps=1e-6).to(dtype), ours().to(dtype)
    model.fc_norm.eps = 1e-6  # the authors'; transformers' is 1e-5, whatever the configuration
    weights = NAMES[names](model.state_dict())
    assert source_of(StoredWeights(weights)) == "videomae"
    check_config(model.config.to_dict(), network)
    load_pretrained(network, weights)
    clip = torch.randn(2, 3, 6, 16, 24, dtype=dtype)
    with torch.no_grad():
        expected = model(rearrange(clip, "b c t h w -> b t c h w")).logits
        torch.testing.assert_close(network(clip), expected, atol=tolerance, rtol=tolerance)
    assert not network.embed.pos_embed.requires_grad


def test_transformers_own_epsilons_change_nothing_that_shows():
    model, network = theirs(), ours()
    assert model.config.layer_norm_eps == 1e-12 and model.fc_norm.eps == 1e-5
    check_config(model.config.to_dict(), network)
    load_pretrained(network, model.state_dict())
    clip = torch.randn(2, 3, 6, 16, 24)
    with torch.no_grad():
        expected = model(rearrange(clip, "b c t h w -> b t c h w")).logits
    torch.testing.assert_close(network(clip), expected, atol=1e-4, rtol=1e-4)


def pretrained(names):
    weights = theirs(VideoMAEForPreTraining).state_dict()
    if names == "transformers":
        return weights
    encoder = {key: value for key, value in weights.items() if key.startswith("videomae.")}
    rest = {key: value for key, value in weights.items() if not key.startswith("videomae.")}
    return (
        {f"encoder.{key}": value for key, value in authors(encoder).items()}
        | rest
        | {"encoder.norm.bias": rest["mask_token"]}
    )


@pytest.mark.parametrize("names", ["transformers", "the authors"])
def test_training_starts_from_a_pre_trained_encoder_without_its_decoder(names):
    network, weights = ours(), pretrained(names)
    with pytest.raises(ValueError, match=r"it lacks aggregate\.head\.bias"):
        load_pretrained(network, weights)
    left_out = load_pretrained(network, weights, fresh_head=True)
    assert left_out == "aggregate.head.bias, aggregate.head.weight, norm.bias, norm.weight"
    encoder = theirs(VideoMAEForPreTraining).videomae
    assert torch.equal(network.blocks[2].mlp.fc2.weight, encoder.encoder.layer[2].output.dense.weight)


def test_other_settings_are_refused_with_the_flags():
    stored = StoredWeights(theirs().state_dict())
    with pytest.raises(ValueError, match=r"set --model.variant 1 --model.pool fc_norm"):
        refuse_other_settings(ViViT(5, **SHAPE, size=SIZE, variant=2).hparams, stored)
    refuse_other_settings(ViViT(5, **SHAPE, size=SIZE, **OPTIONS).hparams, stored)
    assert model_settings(stored) == OPTIONS | {"variant": 1}
    assert channel_pixels(stored)[0] == (0.485, 0.456, 0.406)
