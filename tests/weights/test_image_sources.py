"""Image ViTs of other programs: the features of a frame are those that the program itself computes."""

import numpy as np
import pytest
import torch
from torchvision.models import VisionTransformer as TorchvisionViT
from transformers import ViTConfig, ViTForImageClassification, ViTModel

from lit_video.attention import MixingPlan
from lit_video.network.patches import ClipSize
from lit_video.network.vit import ViTSize
from lit_video.network.xvit import xvit
from lit_video.weights.image_sources import timm_names
from lit_video.weights.image_vit import load_image_vit
from lit_video.weights.reading import read_weights
from tests.weights.conftest import image_vit, randomised

pytestmark = pytest.mark.usefixtures("in_float64")


def network():
    return xvit(ViTSize(32, 2, 4), 5, ClipSize((32, 32), 8, 1), plan=MixingPlan(window=0)).eval()


def features(weights, picture):
    ours = network()
    load_image_vit(ours, weights)
    with torch.no_grad():
        return ours.features(picture[:, :, None])[:, 0]


def hugging_face(kind):
    config = ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8,
        layer_norm_eps=1e-6, num_labels=7,
    )  # fmt: skip
    return randomised(kind(config))


def augreg(model):
    """The weights of timm's ViT as AugReg's ``.npz`` has them."""
    arrays = {}
    for key, value in model.state_dict().items():
        array = value.numpy()
        key = key.replace("blocks.", "Transformer/encoderblock_")
        if ".attn.qkv." in key:
            for part, share in zip(("query", "key", "value"), np.split(array, 3), strict=True):
                name = key.replace(".attn.qkv.", f"/MultiHeadDotProductAttention_1/{part}/").replace("weight", "kernel")
                arrays[name] = share.T.reshape(32, 4, 8) if share.ndim == 2 else share.reshape(4, 8)
            continue
        if key == "patch_embed.proj.weight":
            array = array.transpose(2, 3, 1, 0)
        elif ".attn.proj.weight" in key:
            array = array.T.reshape(4, 8, 32)
        elif array.ndim == 2:
            array = array.T
        for ours, theirs in (
            (".norm1.weight", "/LayerNorm_0/scale"),
            (".norm1.bias", "/LayerNorm_0/bias"),
            (".norm2.weight", "/LayerNorm_2/scale"),
            (".norm2.bias", "/LayerNorm_2/bias"),
            (".attn.proj.", "/MultiHeadDotProductAttention_1/out/"),
            (".mlp.fc1.", "/MlpBlock_3/Dense_0/"),
            (".mlp.fc2.", "/MlpBlock_3/Dense_1/"),
            ("patch_embed.proj.", "embedding/"),
            ("cls_token", "cls"),
            ("pos_embed", "Transformer/posembed_input/pos_embedding"),
            ("head.", "head/"),
        ):
            key = key.replace(ours, theirs)
        if key.startswith("norm."):
            key = "Transformer/encoder_norm/" + {"weight": "scale", "bias": "bias"}[key.removeprefix("norm.")]
        arrays[key.replace("/weight", "/kernel")] = array
    return arrays


@pytest.fixture
def picture():
    return torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))


def test_augreg_s_arrays_are_read_as_timm_reads_them(picture, tmp_path):
    model, read_by_timm = image_vit(), image_vit()
    for parameter in read_by_timm.parameters():
        torch.nn.init.zeros_(parameter)
    np.savez(tmp_path / "augreg.npz", **augreg(model))
    read_by_timm.load_pretrained(str(tmp_path / "augreg.npz"))
    weights = read_weights(tmp_path / "augreg.npz").tensors
    named = timm_names(weights)
    assert named.keys() == model.state_dict().keys()
    with torch.no_grad():
        torch.testing.assert_close(read_by_timm.forward_features(picture), model.forward_features(picture))
        expected = model.forward_features(picture)[:, 0]
    torch.testing.assert_close(features(weights, picture), expected, atol=1e-11, rtol=1e-11)


def augreg_vit():
    return {name: torch.from_numpy(array) for name, array in augreg(image_vit()).items()}


def test_the_first_vits_pre_logits_are_left_out(picture):
    weights = augreg_vit()
    more = weights | {"pre_logits/kernel": torch.ones(32, 32), "pre_logits/bias": torch.ones(32)}
    assert torch.equal(features(more, picture), features(weights, picture))


def older(name):
    """A name of transformers 5 as files on the hub have it."""
    for new, old in (
        ("vit.layers.", "vit.encoder.layer."),
        (".q_proj.", ".attention.query."),
        (".k_proj.", ".attention.key."),
        (".v_proj.", ".attention.value."),
        (".o_proj.", ".output.dense."),
        (".mlp.fc1.", ".intermediate.dense."),
        (".mlp.fc2.", ".output.dense."),
    ):
        name = name.replace(new, old)
    return name


@pytest.mark.parametrize(
    ("kind", "name"), [(ViTForImageClassification, str), (ViTForImageClassification, older), (ViTModel, str)]
)
def test_transformers_classifier_and_backbone_with_its_pooler(kind, name, picture):
    model = hugging_face(kind)
    with torch.no_grad():
        expected = getattr(model, "vit", model)(picture).last_hidden_state[:, 0]
    weights = {name(key): value for key, value in model.state_dict().items()}
    torch.testing.assert_close(features(weights, picture), expected, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("linear", ["mlp.0", "mlp.linear_1"])
def test_torchvision_s(linear, picture):
    model = randomised(TorchvisionViT(32, 8, 2, 4, 32, 128, num_classes=7))
    hidden = []
    model.encoder.register_forward_hook(lambda module, inputs, output: hidden.append(output[:, 0]))
    with torch.no_grad():
        model(picture)
    second = linear.replace("0", "3").replace("_1", "_2")
    names = {key: key.replace("mlp.0", linear).replace("mlp.3", second) for key in model.state_dict()}
    weights = {names[key]: value for key, value in model.state_dict().items()}
    torch.testing.assert_close(features(weights, picture), hidden[0], atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("more", ["decoder_blocks.0.norm1.bias", "mask_token", "fc_norm.weight"])
def test_mae_s_decoder_is_left_out(more, picture):
    weights = image_vit().state_dict()
    assert torch.equal(features({**weights, more: torch.ones(2)}, picture), features(weights, picture))


@pytest.mark.parametrize(
    ("weights", "unknown"),
    [
        (augreg_vit, "Transformer/encoderblock_0/Dense/kernel"),
        (lambda: hugging_face(ViTModel).state_dict(), "layers.0.adapter.weight"),
        (lambda: TorchvisionViT(32, 8, 2, 4, 32, 128).state_dict(), "encoder.layers.encoder_layer_0.gamma.weight"),
        (lambda: image_vit().state_dict(), "blocks.0.ls1.gamma"),
    ],
)
def test_what_has_no_place_is_named(weights, unknown):
    with pytest.raises(ValueError, match=f"the image weights have no place for {unknown}"):
        load_image_vit(network(), {**weights(), unknown: torch.ones(2)})


def test_a_linear_stem_is_refused():
    weights = image_vit().state_dict()
    weights["patch_embed.proj.weight"] = weights["patch_embed.proj.weight"].flatten(1)
    with pytest.raises(ValueError, match=r"patch_embed\.proj\.weight is \(32, 192\), expected .* a linear stem"):
        load_image_vit(network(), weights)
