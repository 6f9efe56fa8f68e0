"""Test the probes against their equations, and on frozen networks."""

import pytest
import torch
from scipy.fft import dct

from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.network.aggregation import WAVES, AttentiveProbe, WaveProbe, cosine_waves
from lit_video.network.vit import ViTSize
from lit_video.weights.loading import load_pretrained
from tests.attention.scheme_cases import randomised

SIZE = ViTSize(16, 2, 4)
REGISTERS = ViTSize(16, 2, 4, registers=4)
CLIPS = dict(num_frames=4, image_size=32, size=SIZE, patch_size=8)


def test_logits_are_those_of_the_equation():
    """Compare with the equation; loops over its attention are in tests/attention, as the bottleneck."""
    probe, tokens = randomised(AttentiveProbe(12, 5, 3)), torch.randn(2, 7, 12, dtype=torch.float64)
    u = probe.read(torch.cat([probe.query_token] * 2), tokens)
    expected = probe.head(u + probe.mlp(u))[:, 0]
    torch.testing.assert_close(probe(tokens), expected, atol=1e-12, rtol=1e-12)
    assert not torch.allclose(probe(tokens), probe(tokens[:, 1:]))


def released_logits(probe, tokens):
    """Return a probe's logits by the equation of V-JEPA's release: u' = u + MCA(u, LN(z))."""
    read, u = probe.read, probe.query_token.expand(len(tokens), -1, -1)
    q = read.q(u)
    k, v = read.kv(read.token_norm(tokens)).chunk(2, dim=-1)
    of_heads = []

    for part in range(read.num_heads):
        own = slice(part * q.shape[-1] // read.num_heads, (part + 1) * q.shape[-1] // read.num_heads)
        scores = q[..., own] @ k[..., own].mT / (q.shape[-1] // read.num_heads) ** 0.5
        of_heads.append(scores.softmax(-1) @ v[..., own])

    u = u + read.proj(torch.cat(of_heads, dim=-1))
    return probe.head(u + probe.mlp(u))[:, 0]


def test_unlike_the_release_the_query_is_normalised(monkeypatch):
    """Check what the docstring says: without this norm, logits are those of the release."""
    probe, tokens = randomised(AttentiveProbe(12, 5, 3)), torch.randn(2, 7, 12, dtype=torch.float64)
    released = released_logits(probe, tokens)
    assert not torch.allclose(probe(tokens), released, atol=1e-3)
    monkeypatch.setattr(probe.read, "norm", torch.nn.Identity())
    torch.testing.assert_close(probe(tokens), released, atol=1e-12, rtol=1e-12)


def test_waves_are_scipys_cosine_transform_and_the_first_is_the_mean():
    x = torch.randn(2, 7, 3, dtype=torch.float64)
    waves = cosine_waves(x)
    expected = dct(x.numpy(), type=2, axis=1)[:, : 1 + WAVES] / (2 * 7)
    torch.testing.assert_close(waves, torch.from_numpy(expected), atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(waves[:, 0], x.mean(1), atol=1e-12, rtol=1e-12)


def test_waves_change_their_sign_with_the_direction_of_time():
    """Reverse the frames: even waves stay, odd ones change their sign, so a linear classifier tells the direction."""
    x = torch.randn(2, 6, 3, dtype=torch.float64)
    signs = torch.tensor([1.0, -1, 1, -1, 1], dtype=torch.float64)
    torch.testing.assert_close(cosine_waves(x.flip(1)), signs[:, None] * cosine_waves(x), atol=1e-12, rtol=1e-12)


def test_the_probe_of_waves_is_a_linear_classifier_of_the_normalised_waves():
    probe, x = randomised(WaveProbe(6, 5)), torch.randn(3, 4, 6, dtype=torch.float64)
    waves = cosine_waves(x)
    scaled = (waves - waves.mean(-1, keepdim=True)) / (waves.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    expected = scaled.flatten(1) @ probe.head.weight.T + probe.head.bias
    torch.testing.assert_close(probe(x), expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("probe", ["attentive", "waves"])
@pytest.mark.parametrize(
    "model",
    [
        lambda **options: XViT(5, **CLIPS, **options),
        lambda **options: TimeSformer(5, **CLIPS, **options),
        lambda **options: ViViT(5, **CLIPS, **options),
        lambda **options: ViViT(5, **CLIPS, variant=2, **options),
    ],
)
def test_of_a_frozen_network_the_probe_alone_learns(model, probe):
    """Check by gradients that the probe reads every patch of every frame."""
    probed = model(probe=probe, freeze="backbone")
    clip = torch.randn(2, 3, 4, 32, 32, requires_grad=True)
    logits = probed(clip)
    logits.square().sum().backward()
    assert logits.shape == (2, 5) and clip.grad.ne(0).flatten(3).any(-1).all()
    learning = {name for name, parameter in probed.network.named_parameters() if parameter.grad is not None}
    assert learning == {f"aggregate.{name}" for name, _ in probed.network.aggregate.named_parameters()}


@pytest.mark.parametrize(
    ("probe", "lacks"), [("attentive", r"lacks aggregate\..*aggregate\.mlp"), ("waves", "aggregate")]
)
def test_weights_of_another_classifier_leave_the_probe_fresh_in_training(probe, lacks):
    weights = XViT(5, **CLIPS).network.state_dict()
    network = XViT(5, **CLIPS, probe=probe).network
    with pytest.raises(ValueError, match=lacks):
        load_pretrained(network, weights)
    left_out = load_pretrained(network, weights, fresh_head=True)
    assert left_out.split(", ") == sorted(f"aggregate.{name}" for name in network.aggregate.state_dict())
    assert torch.equal(network.embed.pos_embed, weights["embed.pos_embed"])
    own = {key: value + 1 for key, value in network.state_dict().items()}
    assert load_pretrained(network, own, fresh_head=True) == ""
    assert torch.equal(network.aggregate.head.weight, own["aggregate.head.weight"])


def test_a_cnn_has_no_tokens():
    with pytest.raises(ValueError, match="has no tokens"):
        ConvNet(5, 8, 64, architecture="slow", width=8, probe="attentive")


# family, settings, tokens before the patches of a clip, of a frame
LAYOUTS = {
    "as many registers as frames": (TimeSformer, dict(size=REGISTERS), 5, 0),
    "one frame": (TimeSformer, dict(num_frames=1), 1, 0),
    "every frame's class token": (XViT, {}, 0, 1),
    "every frame's registers": (TimeSformer, dict(size=REGISTERS, attention_type="space"), 0, 5),
    "no class token": (ViViT, dict(variant=3), 0, 0),
    "tubelets": (ViViT, dict(variant=1), 1, 0),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_frames_probe_reads_the_mean_of_each_frames_patches_alone(name):
    family, settings, of_clip, of_frame = LAYOUTS[name]
    network = family(5, **CLIPS | settings, probe="frames").eval().network
    clip = torch.randn(2, 3, network.num_frames * network.embed.patches.tubelet_size, 32, 32)
    with torch.no_grad():
        tokens, grid = network.forward_tokens(clip)
        features = network.forward_features(clip)

    of_frames = network.norm(tokens)[:, of_clip:].unflatten(1, (grid.t, of_frame + 16))
    torch.testing.assert_close(features, of_frames[:, :, of_frame:].mean(2))


def test_latents_are_no_frames():
    with pytest.raises(ValueError, match="probe is frames"):
        Perceiver(5, **CLIPS, num_latents=8, probe="frames")
    Perceiver(5, **CLIPS, num_latents=8, probe="attentive")


def test_a_frames_probe_has_a_position_for_every_frame_of_all_segments():
    model = XViT(5, **CLIPS, segments=2, probe="frames")
    assert model.network.aggregate.pos_embed.shape == (1, 4, 16)
    assert model.network.embed.temp_embed.shape == (1, 2, 16)
