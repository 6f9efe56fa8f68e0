"""Test ViViT loaded from flax names against the release's logits and a second implementation, written here."""

from fractions import Fraction

import pytest
import torch
from einops import rearrange

from benchmarks.parity import MODELS, VECTORS, authors_vivit, channels_first
from lit_video.network.embedding import ClipSize
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.weights.loading import load_pretrained
from lit_video.weights.settings import tasks_in_order
from tests.float32 import assert_close_in_float32
from tests.weights.conftest import double

NAMES = [f"scenic_vivit_{name}" for name in ("m1_token", "m2_token", "m3_space_time", "m4")]


def vector_of(name):
    return torch.load(VECTORS / f"{name}.pt", weights_only=True)


def exact_logits(name):
    """Return the release's logits in float64."""
    return vector_of("scenic_vivit_logits_float64")[name]


@pytest.mark.parametrize("name", NAMES)
def test_logits_of_the_release(name):
    vector = vector_of(name)
    clip = channels_first(vector["input"])
    single = authors_vivit(vector)
    exact = authors_vivit(vector, double(vector["state_dict"]))
    with torch.no_grad():
        assert_close_in_float32(single(clip), vector["logits"], single)
        torch.testing.assert_close(exact(clip.double()), exact_logits(name), atol=1e-9, rtol=0)


WIDTH, HEADS, PATCH, CLASSES = 16, 4, 4, 5
GRID = (3, 2, 3)
# every kind of model, with the options that build it
CASES = {
    "1_token": dict(model=1, pool="token"),
    "1_mean": dict(model=1, pool="mean"),
    "1_uniform": dict(model=1, pool="token", sampled_frames=3, tubelet_size=1),
    "1_uniform_tubelets": dict(model=1, pool="mean", sampled_frames=6),
    "2_token": dict(model=2, pool="token"),
    "2_mean": dict(model=2, pool="mean"),
    "2_deep": dict(model=2, pool="token", temporal_depth=2),
    "2_uniform": dict(model=2, pool="token", sampled_frames=3, tubelet_size=1),
    "2_average_pool": dict(model=2, pool="token", temporal="mean"),
    "2_average_pool_mean": dict(model=2, pool="mean", temporal="mean"),
    "3_space_time": dict(model=3, pool="mean", order="space_time"),
    "3_time_space": dict(model=3, pool="mean", order="time_space"),
    "3_uniform": dict(model=3, pool="mean", order="time_space", sampled_frames=3, tubelet_size=1),
    "4": dict(model=4, pool="mean"),
    "4_uniform": dict(model=4, pool="mean", sampled_frames=3, tubelet_size=1),
}


class FlaxWeights(dict):
    """Random weights under the release's names and layouts."""

    def __init__(self, seed=0):
        self.generator = torch.Generator().manual_seed(seed)

    def add(self, name, *shape, mean=0.0):
        self[name] = mean + 0.4 * torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def dense(self, name, inputs, outputs):
        self.add(f"{name}/kernel", *inputs, *outputs)
        self.add(f"{name}/bias", *outputs)

    def norm(self, name):
        self.add(f"{name}/scale", WIDTH, mean=1.0)
        self.add(f"{name}/bias", WIDTH)

    def block(self, name, attentions, norms, mlp):
        for part in norms:
            self.norm(f"{name}/{part}")
        for part in attentions:
            for projection in ("query", "key", "value"):
                self.dense(f"{name}/{part}/{projection}", (WIDTH,), (HEADS, WIDTH // HEADS))
            self.dense(f"{name}/{part}/out", (HEADS, WIDTH // HEADS), (WIDTH,))
        self.dense(f"{name}/{mlp}/Dense_0", (WIDTH,), (2 * WIDTH,))
        self.dense(f"{name}/{mlp}/Dense_1", (2 * WIDTH,), (WIDTH,))

    def encoder(self, name, depth, rows, parts, cls=None):
        self.add(f"{name}/posembed_input/pos_embedding", 1, rows + (cls is not None), WIDTH)
        self.norm(f"{name}/encoder_norm")
        for i in range(depth):
            self.block(f"{name}/encoderblock_{i}", *parts)
        if cls:
            self.add(cls, 1, 1, WIDTH)


PLAIN = (["MultiHeadDotProductAttention_0"], ["LayerNorm_0", "LayerNorm_1"], "MlpBlock_0")
BOTH_AXES = (
    ["MultiHeadDotProductAttention_space", "MultiHeadDotProductAttention_time"],
    ["LayerNorm_space", "LayerNorm_time", "LayerNorm_mlp"],
    "MlpBlock",
)


def flax_weights(model, pool, tubelet_size=2, temporal="encoder", temporal_depth=1, **_):
    """Make the weights of a case; the kernel is 2-D where frames are sampled one by one."""
    weights, (t, h, w), cls = FlaxWeights(), GRID, pool == "token"
    weights.dense("embedding", (PATCH, PATCH, 3) if tubelet_size == 1 else (tubelet_size, PATCH, PATCH, 3), (WIDTH,))
    weights.dense("output_projection", (WIDTH,), (CLASSES,))
    if model != 2:
        weights.encoder("Transformer", 2, t * h * w, BOTH_AXES if model == 3 else PLAIN, "cls" if cls else None)
        return weights
    weights.encoder("SpatialTransformer", 2, h * w, PLAIN, "cls_SpatialTransformer" if cls else None)
    if temporal == "encoder":
        weights.encoder("TemporalTransformer", temporal_depth, t, PLAIN, "cls_TemporalTransformer" if cls else None)
    return weights


class Scenic:
    """The release's arithmetic on its own names and layouts, from its description; clips ``(b, t, h, w, 3)``."""

    def __init__(self, weights):
        self.weights = weights

    def norm(self, x, name):
        mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
        return (x - mean) / (var + 1e-6).sqrt() * self.weights[f"{name}/scale"] + self.weights[f"{name}/bias"]

    def dense(self, x, name, axes=1):
        return torch.tensordot(x, self.weights[f"{name}/kernel"], dims=axes) + self.weights[f"{name}/bias"]

    def project(self, x, name):
        return (self.dense(x, f"{name}/{part}") for part in ("query", "key", "value"))

    @staticmethod
    def attend(q, k, v):
        """Attend over ``(..., tokens, heads, channels)``."""
        weights = torch.einsum("...qac, ...kac -> ...aqk", q, k) / q.shape[-1] ** 0.5
        return torch.einsum("...aqk, ...kac -> ...qac", weights.softmax(-1), v)

    def attention(self, x, name):
        """Attend over the last axis but one."""
        return self.dense(self.attend(*self.project(x, name)), f"{name}/out", axes=2)

    def along(self, axis, function, x):
        """Apply a function of tokens over space or over time to ``(b, t, s, d)``."""
        return function(x) if axis == "space" else function(x.transpose(1, 2)).transpose(1, 2)

    def two_axes(self, x, name):
        """Attend like model 4: the first half of the heads over time, the second over space."""
        q, k, v = self.project(x, name)
        half = q.shape[-2] // 2
        time = self.attend(*(y[..., :half, :].transpose(1, 2) for y in (q, k, v))).transpose(1, 2)
        space = self.attend(*(y[..., half:, :] for y in (q, k, v)))
        return self.dense(torch.cat((time, space), dim=-2), f"{name}/out", axes=2)

    def mlp(self, x, name):
        u = self.dense(x, f"{name}/Dense_0")
        u = 0.5 * u * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)))
        return self.dense(u, f"{name}/Dense_1")

    def encoder(self, x, name, kind="plain", order=None):
        i = 0
        while f"{name}/encoderblock_{i}/{'LayerNorm_mlp' if kind == 'axes' else 'LayerNorm_0'}/scale" in self.weights:
            block = f"{name}/encoderblock_{i}"
            if kind == "axes":
                for axis in order.split("_"):
                    attention = f"{block}/MultiHeadDotProductAttention_{axis}"
                    y = self.norm(x, f"{block}/LayerNorm_{axis}")
                    x = x + self.along(axis, lambda z, at=attention: self.attention(z, at), y)
                x = x + self.mlp(self.norm(x, f"{block}/LayerNorm_mlp"), f"{block}/MlpBlock")
            else:
                attend = self.two_axes if kind == "heads" else self.attention
                x = x + attend(self.norm(x, f"{block}/LayerNorm_0"), f"{block}/MultiHeadDotProductAttention_0")
                x = x + self.mlp(self.norm(x, f"{block}/LayerNorm_1"), f"{block}/MlpBlock_0")
            i += 1
        assert i
        return self.norm(x, f"{name}/encoder_norm")

    def pooled(self, x, name, cls):
        """Encode ``(b, n, d)`` and return its class token or mean."""
        if cls in self.weights:
            x = torch.cat((self.weights[cls].expand(len(x), 1, -1), x), dim=1)
        x = self.encoder(x + self.weights[f"{name}/posembed_input/pos_embedding"], name)
        return x[:, 0] if cls in self.weights else x.mean(1)

    def logits(self, clip, model, order="space_time", sampled_frames=None, temporal="encoder", **_):
        if sampled_frames is not None:
            step = Fraction(clip.shape[1], sampled_frames + 1)
            clip = clip[:, [round(k * step) for k in range(1, sampled_frames + 1)]]
        kernel = self.weights["embedding/kernel"]
        k, height, width = (1, *kernel.shape)[-5:-2]
        x = rearrange(clip, "b (t k) (h p) (w q) c -> b t h w (k p q c)", k=k, p=height, q=width)
        x = x @ kernel.reshape(-1, kernel.shape[-1]) + self.weights["embedding/bias"]
        b, t, h, w, _d = x.shape
        if model == 1:
            x = self.pooled(x.reshape(b, t * h * w, -1), "Transformer", "cls")
        elif model == 2:
            x = self.pooled(x.reshape(b * t, h * w, -1), "SpatialTransformer", "cls_SpatialTransformer").view(b, t, -1)
            x = x.mean(1) if temporal == "mean" else self.pooled(x, "TemporalTransformer", "cls_TemporalTransformer")
        else:
            table = self.weights["Transformer/posembed_input/pos_embedding"].view(1, t, h * w, -1)
            kind = {3: "axes", 4: "heads"}[model]
            x = self.encoder(x.reshape(b, t, h * w, -1) + table, "Transformer", kind, order).mean((1, 2))
        return self.dense(x, "output_projection")


def clip_of(case):
    """Make a clip for the case's positions; of 3 n + 1 frames if n are sampled."""
    frames = 3 * case["sampled_frames"] + 1 if "sampled_frames" in case else GRID[0] * 2
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, frames, GRID[1] * PATCH, GRID[2] * PATCH, 3, generator=generator, dtype=torch.float64)


def load(
    weights, model, tubelet_size=2, sampled_frames=None, temporal_depth=1, size=None, clip=None, classes=5, **options
):
    """Build a network of the case's or of other sizes, in the weights' dtype, and load them."""
    case = ClipSize(
        (GRID[1] * PATCH, GRID[2] * PATCH),
        PATCH,
        GRID[0] * tubelet_size,
        tubelet_size=tubelet_size,
        sampled_frames=sampled_frames,
    )
    size = size or ViTSize(WIDTH, 2, HEADS, mlp_ratio=2.0)
    network = vivit(size, classes, clip or case, variant=model, temporal_depth=temporal_depth, **options)
    load_pretrained(network.to(weights["embedding/bias"].dtype), weights)
    return network.eval()


@pytest.mark.parametrize("name", NAMES)
def test_the_second_implementation_is_the_release_s(name):
    vector = vector_of(name)
    config = vector["config"]
    logits = Scenic(double(vector["state_dict"])).logits(
        vector["input"].double(),
        MODELS[config["attention_type"]],
        config["attention_order"],
        config["n_sampled_frames"] or None,
        "mean" if config["spatial_only_baseline"] else "encoder",
    )
    torch.testing.assert_close(logits, exact_logits(name), atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", CASES)
def test_every_model_gives_the_logits_of_the_second_implementation(name):
    case = CASES[name]
    weights, clip = flax_weights(**case), clip_of(case)
    expected = Scenic(weights).logits(clip, **case)
    single = {key: value.float() for key, value in weights.items()}
    with torch.no_grad():
        exact, rounded = load(weights, **case), load(single, **case)
        torch.testing.assert_close(exact(channels_first(clip)), expected, atol=1e-9, rtol=0)
        assert_close_in_float32(rounded(channels_first(clip).float()), expected.float(), rounded)
    assert (expected[0] - expected[1]).abs().max() > 0.1


@pytest.mark.parametrize("tasks", [{"verb": 97, "noun": 300}, {"noun": 300, "verb": 97}])
def test_the_nouns_of_epic_kitchens_come_first_in_the_release(tasks):
    weights = flax_weights(**CASES["1_token"])
    kernel, bias = torch.randn(WIDTH, 397), torch.arange(397.0)
    weights |= {"output_projection/kernel": kernel, "output_projection/bias": bias}
    ours = tasks_in_order(weights, tasks)
    nouns = slice(97, None) if next(iter(tasks)) == "verb" else slice(0, 300)
    verbs = slice(0, 97) if next(iter(tasks)) == "verb" else slice(300, None)
    for key in ("output_projection/kernel", "output_projection/bias"):
        assert torch.equal(ours[key][..., nouns], weights[key][..., :300])
        assert torch.equal(ours[key][..., verbs], weights[key][..., 300:])
    assert all(ours[key] is weights[key] for key in weights if not key.startswith("output_projection"))


def test_other_tasks_and_other_weights_keep_their_order():
    weights = flax_weights(**CASES["1_token"])
    assert tasks_in_order(weights, {"verb": 2, "noun": 3}) == weights
    theirs = {"head.weight": torch.ones(397, 2), "blocks.0.norm1.bias": torch.ones(2)}
    assert tasks_in_order(theirs, {"verb": 97, "noun": 300}) == theirs
