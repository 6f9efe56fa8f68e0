"""Test parity with transformers' TimeSformer and ViViT, under their names, the authors' and older ones, both ways."""

import copy

import pytest
import torch
from einops import rearrange
from transformers import (
    TimesformerConfig,
    TimesformerForVideoClassification,
    VivitConfig,
    VivitForVideoClassification,
)

from lit_video.network.embedding import ClipSize
from lit_video.network.timesformer import timesformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.utils.clip_shape import height_and_width
from lit_video.weights.hugging_face import export_hf_timesformer, export_hf_vivit
from lit_video.weights.loading import load_pretrained
from lit_video.weights.reading import StoredWeights
from lit_video.weights.settings import refuse_other_settings
from tests.float32 import assert_close_in_float32

TYPES = {"divided": "divided_space_time", "joint": "joint_space_time", "space": "space_only"}
# frames, side of the image, side of a patch, width, layers, heads
SHAPES = [(4, 48, 16, 64, 3, 4), (3, 16, 8, 24, 2, 3), (1, 12, 4, 16, 1, 2), (5, 8, 8, 16, 2, 1)]


def randomised(model, dtype=torch.float64):
    """Make every parameter random, none of them zero, so that logits are far from all equal."""
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        values = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        mean = float("norm" in name and name.endswith("weight"))
        parameter.data = (mean + values * (0.3 if parameter.ndim < 2 else 1.5 / parameter[0].numel() ** 0.5)).to(dtype)
        assert parameter.data.count_nonzero() == parameter.numel()
    return model.eval()


def hf_timesformer(attention, shape, dtype=torch.float64, image_size=None, **options):
    frames, side, patch, width, layers, heads = shape
    config = TimesformerConfig(
        num_frames=frames,
        image_size=image_size or side,
        patch_size=patch,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=3 * width,
        num_labels=5,
        attention_type=TYPES[attention],
        **options,
    )
    return randomised(TimesformerForVideoClassification(config), dtype)


def hf_vivit(
    num_frames=4, image_size=(16, 24), tubelet_size=(2, 8, 8), implementation="sdpa", dtype=torch.float64, **options
):
    config = VivitConfig(
        num_frames=num_frames,
        image_size=image_size,
        tubelet_size=tubelet_size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        num_labels=5,
        attn_implementation=implementation,
        **options,
    )
    return randomised(VivitForVideoClassification(config), dtype)


def loaded(model, weights=None, num_frames=None, image_size=None):
    """Build our network of a model's configuration, for its own or another grid, and load its weights."""
    config = model.config
    size = ViTSize(
        config.hidden_size, config.num_hidden_layers, config.num_attention_heads,
        mlp_ratio=config.intermediate_size / config.hidden_size,
    )  # fmt: skip
    image_size, num_frames = height_and_width(image_size or config.image_size), num_frames or config.num_frames
    if config.model_type == "timesformer":
        attention = next(ours for ours, theirs in TYPES.items() if theirs == config.attention_type)
        network = timesformer(size, 5, ClipSize(image_size, config.patch_size, num_frames), attention_type=attention)
    else:
        tubelet, patch, _ = config.tubelet_size
        network = vivit(size, 5, ClipSize(image_size, patch, num_frames, tubelet_size=tubelet))
    load_pretrained(network.to(model.dtype), model.state_dict() if weights is None else weights)
    return network.eval()


def clip_of(num_frames, height, width, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, 3, num_frames, height, width, generator=generator, dtype=torch.float64).to(dtype)


def their_logits(model, clip):
    """Return transformers' logits; for ``space`` from the mean over frames after the encoder, like the authors."""
    seen = {}
    if model.config.model_type == "timesformer":
        hook = model.timesformer.encoder.register_forward_hook(lambda module, args, out: seen.update(tokens=out[0]))
    with torch.no_grad():
        logits = model(rearrange(clip, "b c t h w -> b t c h w")).logits
        if getattr(model.config, "attention_type", None) != "space_only":
            return logits
        hook.remove()
        assert len(logits) == len(clip) * clip.shape[2]
        tokens = rearrange(seen["tokens"], "(b t) m d -> b t m d", t=clip.shape[2]).mean(1)
        return model.classifier(model.timesformer.layernorm(tokens)[:, 0])


def check(network, model, clip, tolerance=1e-9):
    expected = their_logits(model, clip)
    with torch.no_grad():
        actual = network(clip)
    if clip.dtype == torch.float32:
        assert_close_in_float32(actual, expected, network)
    else:
        torch.testing.assert_close(actual, expected, atol=tolerance, rtol=tolerance)
    assert (expected[0] - expected[1]).abs().max() > 0.05


FACEBOOK = {
    "timesformer.embeddings.cls_token": "cls_token",
    "timesformer.embeddings.position_embeddings": "pos_embed",
    "timesformer.embeddings.time_embeddings": "time_embed",
    "timesformer.embeddings.patch_embeddings.projection": "patch_embed.proj",
    "timesformer.encoder.layer": "blocks",
    "temporal_layernorm": "temporal_norm1",
    "layernorm_before": "norm1",
    "layernorm_after": "norm2",
    "temporal_attention.attention.qkv": "temporal_attn.qkv",
    "temporal_attention.output.dense": "temporal_attn.proj",
    "attention.attention.qkv": "attn.qkv",
    "attention.output.dense": "attn.proj",
    "temporal_dense": "temporal_fc",
    "intermediate.dense": "mlp.fc1",
    "output.dense": "mlp.fc2",
    "timesformer.layernorm": "norm",
    "classifier": "head",
}
OLDER_VIVIT = {
    "vivit.layers": "vivit.encoder.layer",
    "attention.q_proj": "attention.attention.query",
    "attention.k_proj": "attention.attention.key",
    "attention.v_proj": "attention.attention.value",
    "attention.o_proj": "attention.output.dense",
    "mlp.fc1": "intermediate.dense",
    "mlp.fc2": "output.dense",
}


def renamed(state_dict, pieces, prefix=""):
    """Rename parts of the keys, the first pieces first."""
    names = {}
    for key, value in state_dict.items():
        for old, new in pieces.items():
            key = key.replace(old, new)
        names[prefix + key] = value
    return names


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("attention", TYPES)
def test_timesformer_has_the_logits_of_transformers(attention, shape, dtype):
    model, clip = hf_timesformer(attention, shape, dtype), clip_of(shape[0], shape[1], shape[1], dtype)
    check(loaded(model), model, clip)
    authors = renamed(model.state_dict(), FACEBOOK, "module.model.")
    if attention == "divided":  # all released weights are divided
        check(loaded(model, authors), model, clip)


@pytest.mark.parametrize("attention", TYPES)
@pytest.mark.parametrize(("height", "width"), [(32, 48), (16, 96), (64, 48), (80, 96)])
def test_another_image_size_gets_the_nearest_positions_as_in_transformers(attention, height, width):
    model, clip = hf_timesformer(attention, SHAPES[0]), clip_of(4, height, width)
    check(loaded(model, image_size=(height, width)), model, clip)


VIVITS = [
    dict(),
    dict(num_frames=6, image_size=(16, 16), tubelet_size=(3, 8, 8)),
    dict(num_frames=3, image_size=(24, 8), tubelet_size=(1, 8, 8)),
    dict(num_frames=2, image_size=(8, 16), tubelet_size=(2, 4, 4)),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("shape", VIVITS, ids=str)
def test_vivit_has_the_logits_of_transformers(shape, implementation, dtype):
    model = hf_vivit(**shape, implementation=implementation, dtype=dtype)
    size = model.config.image_size
    # transformers' GELU rounds sqrt(2 / pi) to seven digits
    check(loaded(model), model, clip_of(model.config.num_frames, *size, dtype), tolerance=1e-6)


def test_vivit_of_older_files():
    model = hf_vivit(hidden_act="gelu_pytorch_tanh")
    older = renamed(model.state_dict(), OLDER_VIVIT)
    assert "vivit.encoder.layer.1.attention.output.dense.weight" in older
    assert not [key for key in older if "_proj" in key or "mlp" in key]
    check(loaded(model, older), model, clip_of(4, 16, 24))


@pytest.mark.parametrize("attention", TYPES)
def test_an_exported_timesformer_has_the_same_logits_in_transformers(attention):
    network = randomised(
        timesformer(ViTSize(24, 2, 3, mlp_ratio=3.0), 5, ClipSize((16, 16), 8, 3), attention_type=attention)
    )
    weights = export_hf_timesformer(network)
    model = hf_timesformer(attention, SHAPES[1])
    model.load_state_dict(weights)
    clip = clip_of(3, 16, 16)
    check(network, model, clip)
    back = loaded(model, weights).state_dict()
    assert all(torch.equal(value, back[key]) for key, value in network.state_dict().items())


@pytest.mark.parametrize("shape", VIVITS, ids=str)
def test_an_exported_vivit_has_the_same_logits_in_transformers(shape):
    model = hf_vivit(**shape, hidden_act="gelu_pytorch_tanh")
    config, size = model.config, ViTSize(32, 2, 4, mlp_ratio=1.5)
    tubelet, patch, _ = config.tubelet_size
    network = randomised(
        vivit(size, 5, ClipSize(tuple(config.image_size), patch, config.num_frames, tubelet_size=tubelet))
    )
    weights = export_hf_vivit(network)
    assert all(value.is_contiguous() for value in weights.values())
    model.load_state_dict(weights)
    check(network, model, clip_of(config.num_frames, *config.image_size))
    back = loaded(model, weights).state_dict()
    assert all(torch.equal(value, back[key]) for key, value in network.state_dict().items())


def test_a_class_token_in_time_is_not_loaded():
    options = dict(size=ViTSize(16, 2, 4), classes=5, clip=ClipSize((16, 16), 8, 4))
    weights = export_hf_timesformer(timesformer(**options))
    with pytest.raises(ValueError, match=r"set --model\.cls_in_time false"):
        refuse_other_settings({"cls_in_time": True}, StoredWeights(weights))
    refuse_other_settings({"cls_in_time": False}, StoredWeights(weights))
    with pytest.raises(ValueError, match="cls_in_time is for divided attention, but attention_type is joint"):
        timesformer(**options, attention_type="joint", cls_in_time=True)


@pytest.mark.parametrize("attention", ["space_before_time", "parallel"])
def test_the_order_of_time_and_space_is_no_other_s(attention):
    """Refuse them, although names and shapes are those of divided attention."""
    options = dict(size=ViTSize(16, 2, 4), classes=5, clip=ClipSize((16, 16), 8, 4))
    weights = export_hf_timesformer(timesformer(**options))
    with pytest.raises(ValueError, match=r"set --model\.attention_type divided"):
        refuse_other_settings({"attention_type": attention}, StoredWeights(weights))
    with pytest.raises(ValueError, match="with a class token, which this network lacks"):
        export_hf_timesformer(timesformer(**options, attention_type=attention))


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("kind", ["divided", "joint", "vivit"])
def test_a_backbone_without_classifier_starts_training(kind, bare):
    """Load also bare names, which ``TimesformerModel`` and ``VivitModel`` save."""
    model = hf_vivit() if kind == "vivit" else hf_timesformer(kind, SHAPES[0])
    weights, whole = model.state_dict(), loaded(model)
    cut = {key.partition(".")[2] if bare else key: v for key, v in weights.items() if not key.startswith("classifier")}
    network = copy.deepcopy(whole)
    for parameter in network.parameters():
        torch.nn.init.ones_(parameter)
    assert load_pretrained(network, cut, fresh_head=True) == "aggregate.head.bias, aggregate.head.weight"
    for key, value in network.state_dict().items():
        assert torch.equal(value, torch.ones_like(value) if "head" in key else whole.state_dict()[key])
    with pytest.raises(ValueError, match=r"classifier|aggregate\.head|the names are none of"):
        load_pretrained(network, cut)
