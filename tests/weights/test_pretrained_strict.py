"""No source loads weights that lack a key, have one too many or of another shape: the error names it."""

from pathlib import Path

import pytest
import torch
from timm.models.vision_transformer import VisionTransformer
from transformers import (
    TimesformerConfig,
    TimesformerForVideoClassification,
    VivitConfig,
    VivitForVideoClassification,
)

from lit_video.weights import sources

WIDTH, HEADS = 16, 4
IMAGE_SIZES = {"timm-vit": 12, "timesformer": 12, "hf-timesformer": 12, "hf-vivit": (8, 12), "scenic-vivit": (8, 12)}
IMAGE_SIZES["xvit"] = 16
HF = dict(hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS, intermediate_size=32, num_labels=5)


def timm_vit():
    return VisionTransformer(
        img_size=12, patch_size=4, embed_dim=WIDTH, depth=2, num_heads=HEADS, num_classes=5
    ).state_dict()


def timesformer():
    """The authors' names: those of the image model, and a second attention, which ends in a linear layer."""
    image = timm_vit()
    weights = image | {"time_embed": torch.zeros(1, 3, WIDTH)}
    for key, value in image.items():
        if ".norm1." in key or ".attn." in key:
            weights[key.replace(".norm1.", ".temporal_norm1.").replace(".attn.", ".temporal_attn.")] = value
        if ".attn.proj." in key:
            weights[key.replace(".attn.proj.", ".temporal_fc.")] = value
    return {f"model.{key}": value for key, value in weights.items()}


def hf_timesformer():
    config = TimesformerConfig(num_frames=3, image_size=12, patch_size=4, **HF)
    return TimesformerForVideoClassification(config).state_dict()


def hf_vivit():
    config = VivitConfig(num_frames=4, image_size=(8, 12), tubelet_size=[2, 4, 4], **HF)
    return VivitForVideoClassification(config).state_dict()


def scenic_vivit():
    """Flax's names and layouts of model 1: those of the names that transformers took them over to."""
    pieces = {
        "vivit.embeddings.cls_token": "cls",
        "vivit.embeddings.position_embeddings": "Transformer/posembed_input/pos_embedding",
        "vivit.embeddings.patch_embeddings.projection.": "embedding/",
        "vivit.layernorm.": "Transformer/encoder_norm/",
        "vivit.layers.": "Transformer/encoderblock_",
        ".layernorm_before.": "/LayerNorm_0/",
        ".layernorm_after.": "/LayerNorm_1/",
        ".attention.q_proj.": "/MultiHeadDotProductAttention_0/query/",
        ".attention.k_proj.": "/MultiHeadDotProductAttention_0/key/",
        ".attention.v_proj.": "/MultiHeadDotProductAttention_0/value/",
        ".attention.o_proj.": "/MultiHeadDotProductAttention_0/out/",
        ".mlp.fc1.": "/MlpBlock_0/Dense_0/",
        ".mlp.fc2.": "/MlpBlock_0/Dense_1/",
        "classifier.": "output_projection/",
    }
    weights = {}
    for key, value in hf_vivit().items():
        for old, new in pieces.items():
            key = key.replace(old, new)
        key = key.replace("/weight", "/scale" if "Norm" in key or "_norm" in key else "/kernel")
        if key.endswith("kernel"):
            value = value.T if value.ndim == 2 else value.permute(2, 3, 4, 1, 0)
        if "/out/kernel" in key:
            value = value.unflatten(0, (HEADS, -1))
        elif "/query/" in key or "/key/" in key or "/value/" in key:
            value = value.unflatten(-1, (HEADS, -1))
        weights[key] = value
    return weights


def xvit_attention():
    """With temporal attention, which leaves ``new_fc`` unused."""
    return {key: value for key, value in xvit_weights("shift_ta1").items() if not key.startswith("new_fc.")}


def xvit_averaging():
    return xvit_weights("shift_avg")


def xvit_weights(name):
    path = Path(__file__).resolve().parents[1] / f"vectors/xvit_mini_{name}.pt"
    return torch.load(path, weights_only=True)["state_dict"]


WEIGHTS = {
    "xvit": xvit_attention,
    "xvit averaging": xvit_averaging,
    "timm-vit": timm_vit,
    "timesformer": timesformer,
    "hf-timesformer": hf_timesformer,
    "hf-vivit": hf_vivit,
    "scenic-vivit": scenic_vivit,
}


def load(source, weights, **changes):
    source = source.partition(" ")[0]
    return sources.load(source, weights, **dict(heads=HEADS, image_size=IMAGE_SIZES[source]) | changes)


def places(source, weights):
    """What each key becomes, seen by loading every tensor filled with its own number; a query's place for its key."""
    numbered = {key: torch.full_like(value, i) for i, (key, value) in enumerate(weights.items())}
    keys, name_of = list(weights), {}
    for name, parameter in load(source, numbered).named_parameters():
        for value in parameter.unique().tolist():
            name_of[keys[int(value)]] = name.replace(".qkv.", ".")
    return name_of


@pytest.mark.parametrize("source", WEIGHTS)
def test_every_key_has_a_place(source):
    weights = WEIGHTS[source]()
    assert places(source, weights).keys() == weights.keys()


@pytest.mark.parametrize("source", WEIGHTS)
def test_every_missing_key_is_named(source):
    weights = WEIGHTS[source]()
    for key, place in places(source, weights).items():
        with pytest.raises(ValueError) as raised:
            load(source, {name: value for name, value in weights.items() if name != key})
        stem, _, leaf = place.rpartition(".")
        assert (stem in str(raised.value) and leaf in str(raised.value)) or key == "cls", key


@pytest.mark.parametrize("source", WEIGHTS)
@pytest.mark.parametrize("key", ["epoch", "blocks.0.gamma", "Transformer/encoderblock_0/extra/kernel", "vivit.pooler"])
def test_every_unknown_key_is_named(source, key):
    weights = WEIGHTS[source]()
    if source == "timesformer":
        key = f"model.{key}"
    with pytest.raises(ValueError, match=key.removeprefix("model.").replace(".", r"\.")):
        load(source, weights | {key: torch.zeros(3)})


@pytest.mark.parametrize("source", WEIGHTS)
def test_every_wrongly_shaped_tensor_is_named(source):
    weights = WEIGHTS[source]()
    for key, place in places(source, weights).items():
        with pytest.raises(ValueError) as raised:
            load(source, weights | {key: torch.cat((weights[key], weights[key]), dim=-1)})
        # widths, the patch and the classes are read from these: the error names the tensors that disagree with them
        telling = ("blocks.0.mlp.norm.weight", "embed.patches.proj.weight", "aggregate.head.weight")
        stem, _, leaf = place.rpartition(".")
        assert (stem in str(raised.value) and leaf in str(raised.value)) or place in telling, key


@pytest.mark.parametrize("source", WEIGHTS)
def test_a_tensor_with_too_few_axes_is_refused(source):
    weights = WEIGHTS[source]()
    for key, value in weights.items():
        if value.ndim > 1:
            with pytest.raises(ValueError):
                load(source, weights | {key: value.flatten()})


@pytest.mark.parametrize("source", WEIGHTS)
def test_heads_that_do_not_divide_the_width_are_named(source):
    with pytest.raises(ValueError, match=r"heads (is )?3"):
        load(source, WEIGHTS[source](), heads=3)


def test_heads_that_the_kernels_refute_are_named():
    with pytest.raises(ValueError, match="heads"):
        load("scenic-vivit", scenic_vivit(), heads=2)


@pytest.mark.parametrize("source", WEIGHTS)
def test_an_image_size_that_the_patch_does_not_divide_is_named(source):
    with pytest.raises(ValueError, match="14"):
        load(source, WEIGHTS[source](), image_size=(8, 14))


@pytest.mark.parametrize("source", ["hf-vivit", "scenic-vivit"])
def test_an_image_size_that_the_joint_positions_do_not_fit_is_named(source):
    with pytest.raises(ValueError, match=r"image_size \(20, 4\): 12 stored positions"):
        load(source, WEIGHTS[source](), image_size=(20, 4))


@pytest.mark.parametrize("source", ["timm-vit", "timesformer", "hf-timesformer"])
def test_positions_that_are_neither_a_square_nor_the_image_s_are_refused(source):
    weights = WEIGHTS[source]()
    key = next(key for key in weights if key.endswith(("pos_embed", "position_embeddings")))
    weights[key] = torch.zeros(1, 1 + 6, WIDTH)
    assert load(source, weights, image_size=(8, 12)).embed.grid[1:] == (2, 3)
    with pytest.raises(ValueError, match="6 stored positions are neither"):
        load(source, weights)


@pytest.mark.parametrize("source", WEIGHTS)
def test_the_names_show_the_source(source):
    assert sources.detect(WEIGHTS[source]()) == source.partition(" ")[0]


@pytest.mark.parametrize("weights", [{}, {"network.head": torch.zeros(1)}])
def test_names_of_no_source_are_refused(weights):
    with pytest.raises(ValueError, match=r"none of hf-timesformer, .*; the first is "):
        sources.detect(weights)
