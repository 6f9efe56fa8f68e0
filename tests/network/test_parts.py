"""Test parts of a network that are the user's own: used, refused with their shapes, and known where they matter."""

import pytest
import torch
from timm.models.vision_transformer import VisionTransformer
from torch import nn

from lit_video.modules import Perceiver, TimeSformer, ViViT, XViT
from lit_video.network.embedding import ClipEmbedding, FrameEmbedding, JointEmbedding
from lit_video.network.parts import Aggregation, Readout
from lit_video.network.streaming import Stream
from lit_video.network.transformer import freeze_layers
from lit_video.network.vit import ViTSize
from lit_video.weights.hugging_face import export_hf_timesformer

CLIP = dict(num_frames=4, image_size=16, size=ViTSize(16, 2, 2), patch_size=8)
FAMILIES = {
    "xvit": (XViT, {}, FrameEmbedding),
    "divided": (TimeSformer, {}, ClipEmbedding),
    "space": (TimeSformer, {"attention_type": "space"}, FrameEmbedding),
    "model 1": (ViViT, {}, JointEmbedding),
    "model 2": (ViViT, {"variant": 2}, FrameEmbedding),
    "fc_norm": (ViViT, {"pool": "fc_norm"}, JointEmbedding),
    "perceiver": (Perceiver, {"num_latents": 3}, JointEmbedding),
}


class Linear(Aggregation):
    def __init__(self, dim, classes):
        super().__init__()
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(x if x.ndim == 2 else x.mean(1))


class Mean(Readout):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x, grid, norm):
        return norm(x).mean(1) * self.scale


def halved(base):
    """Return an embedding that sees pixels at half their contrast."""

    class Halved(base):
        causal = True

        def forward(self, clip):
            return super().forward(0.5 * clip)

    return Halved


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_take_the_places_of_the_familys(family):
    build, settings, base = FAMILIES[family]
    torch.manual_seed(0)
    usual = build(5, **CLIP, **settings).eval()
    torch.manual_seed(0)
    own = build(5, **CLIP, **settings, embedding=halved(base)).eval()
    clip = torch.randn(2, 3, 4, 16, 16)
    assert own.state_dict().keys() == usual.state_dict().keys()
    own.load_state_dict(usual.state_dict())
    torch.testing.assert_close(own(clip), usual(0.5 * clip))
    assert own.network.parts == ("embedding",) and usual.network.parts == ()

    model = build(5, **CLIP, **settings, readout=Mean, aggregation=Linear)
    assert model.network.parts == ("readout", "aggregation")
    assert model(clip).shape == (2, 5) and model.num_features == 16
    model(clip).sum().backward()
    assert model.network.readout.scale.grad.any() and model.get_classifier().weight.grad.any()
    model.reset_classifier(3)
    assert model(clip).shape == (2, 3)


def test_an_aggregation_gets_what_its_constructor_names():
    class Named(Linear):
        def __init__(self, dim, classes, num_heads, num_frames, dropout):
            super().__init__(dim, classes)
            self.given = (dim, classes, num_heads, num_frames, dropout)

    assert XViT(5, **CLIP, dropout=0.25, aggregation=Named).network.aggregate.given == (16, 5, 2, 4, 0.25)


def test_an_aggregation_is_told_the_frames_of_all_segments():
    class Table(Linear):
        def __init__(self, dim, classes, num_frames):
            super().__init__(dim, classes)
            self.table = nn.Parameter(torch.ones(1, num_frames, dim))

        def forward(self, x):
            return super().forward(x * self.table)

    model = XViT(5, **CLIP, segments=2, aggregation=Table)
    assert model(torch.randn(2, 3, 4, 16, 16)).shape == (2, 5)


def test_a_class_is_stored_by_its_name_and_found_by_it():
    model = XViT(5, **CLIP, aggregation=Linear)
    name = model.hparams["aggregation"]
    assert name == f"{__name__}.Linear" and model.hparams["embedding"] is None
    assert type(XViT(5, **CLIP, aggregation=name).network.aggregate) is Linear
    scheme = TimeSformer(5, **CLIP).network.blocks[0].scheme
    given = TimeSformer(5, **CLIP, attention_type=type(scheme))
    assert given.hparams["attention_type"] == given.attention_type == "lit_video.attention.divided.Divided"


class Narrow(FrameEmbedding):
    def forward(self, clip):
        x, grid = super().forward(clip)
        return x[:, 1:], grid


class Crashes(Readout):
    def forward(self, x, grid, norm):
        return x.no_such_method()


class NoTensor(Readout):
    def forward(self, x, grid, norm):
        return [x]


class OneLogit(Linear):
    def forward(self, x):
        return super().forward(x)[:, :1]


class Wants(Aggregation):
    def __init__(self, dim, others):
        super().__init__()


MISTAKES = {
    "of another kind": ({"embedding": Linear}, ["embedding is", "Linear", "lit_video.network.embedding.Embedding"]),
    "not a class": ({"aggregation": 3}, ["aggregation is 3", "subclass of Aggregation"]),
    "a name that is not imported": ({"readout": "os.path"}, ["readout is 'os.path'", "--scheme"]),
    "a method that is missing": ({"readout": Readout}, ["readout", "NotImplementedError"]),
    "another number of tokens": ({"embedding": Narrow}, ["embedding", "Narrow", "(2, 19, 16)", "(2, 20, 16)"]),
    "tokens in another order": ({"embedding": halved(ClipEmbedding)}, ["embedding", "FrameEmbedding"]),
    "an error in its code": ({"readout": Crashes}, ["readout", "Crashes", "AttributeError", "test_parts.py, line"]),
    "a list": ({"readout": NoTensor}, ["readout", "NoTensor", "list"]),
    "features of the clip": ({"readout": Mean}, ["readout", "Mean", "(2, 16)", "(2, 4, 16)"]),
    "other logits": ({"aggregation": OneLogit}, ["aggregation", "OneLogit", "(2, 1)", "(2, 5)"]),
    "another constructor": ({"aggregation": Wants}, ["aggregation", "Wants", "others"]),
    "a probe besides": ({"aggregation": Linear, "probe": "frames"}, ["probe", "aggregation"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_before_training(mistake):
    given, words = MISTAKES[mistake]
    with pytest.raises(ValueError) as refused:
        XViT(5, **CLIP, **given)
    assert all(word in str(refused.value) for word in words), refused.value
    assert "\n" not in str(refused.value)


def test_a_readout_is_frozen_with_the_backbone():
    network = XViT(5, **CLIP, readout=Mean, aggregation=Linear).network
    freeze_layers(network, "backbone")
    assert {name for name, parameter in network.named_parameters() if parameter.requires_grad} == {
        "aggregate.head.weight",
        "aggregate.head.bias",
    }


class Stem(FrameEmbedding):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.stem = nn.Conv3d(3, 3, 1)
        self.fresh = ("stem",)

    def forward(self, clip):
        return super().forward(clip + self.stem(clip))


def test_weights_of_an_image_model_start_all_but_the_own_parts(tmp_path):
    """Take patches, positions and layers of timm's model; leave the stem, the readout and the aggregation as drawn."""
    image = VisionTransformer(img_size=16, patch_size=8, embed_dim=16, depth=2, num_heads=2).state_dict()
    torch.save(image, tmp_path / "vit.pth")
    model = XViT(5, **CLIP, embedding=Stem, readout=Mean, aggregation=Linear, image_weights=str(tmp_path / "vit.pth"))
    drawn = {name: value.clone() for name, value in model.network.state_dict().items()}
    model.setup("fit")
    moved = {name for name, value in model.network.state_dict().items() if not torch.equal(value, drawn[name])}
    assert {"embed.patches.proj.weight", "embed.pos_embed", "blocks.1.mlp.fc2.weight"} <= moved
    assert not [name for name in moved if name.startswith(("embed.stem", "readout.", "aggregate."))]


@pytest.mark.parametrize("part", ["embedding", "aggregation"])
def test_a_network_with_own_parts_is_neither_streamed_nor_exported_as_anothers(part):
    """Refuse both: parts without parameters of their own would be left out in silence."""
    causal = dict(causal=True, positions="space")
    Stream(XViT(5, **CLIP, **causal).network.eval())
    own = {"embedding": halved(FrameEmbedding), "aggregation": Linear}[part]
    with pytest.raises(ValueError, match="stream"):
        Stream(XViT(5, **CLIP, **causal, **{part: own}).network.eval())

    export_hf_timesformer(TimeSformer(5, **CLIP).network)
    own = {"embedding": halved(ClipEmbedding), "aggregation": Linear}[part]
    with pytest.raises(ValueError, match=part):
        export_hf_timesformer(TimeSformer(5, **CLIP, **{part: own}).network)
