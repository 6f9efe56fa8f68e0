"""The attentive probe against a loop, and on frozen networks."""

import pytest
import torch

from lit_video.modules import ConvNet, TimeSformer, ViViT, XViT
from lit_video.network.aggregation import AttentiveProbe
from lit_video.network.vit import ViTSize
from lit_video.weights.loading import load_pretrained

SIZE = ViTSize(16, 2, 4)
CLIPS = dict(frames=4, image_size=32, size=SIZE, patch=8)


def norm(layer, x):
    centred = x - x.mean()
    return centred / (centred.square().mean() + layer.eps).sqrt() * layer.weight + layer.bias


def by_a_loop(probe, tokens):
    """Logits of one clip's tokens ``(n, d)``: head by head, token by token."""
    read, query = probe.read, probe.query_token[0, 0]
    heads, width = read.heads, len(query)
    q = read.q.weight @ norm(read.norm, query) + read.q.bias
    keys_and_values = [read.kv.weight @ norm(read.token_norm, z) + read.kv.bias for z in tokens]
    merged = []
    for a in range(heads):
        part = slice(a * width // heads, (a + 1) * width // heads)
        keys = torch.stack([kv[:width][part] for kv in keys_and_values])
        values = torch.stack([kv[width:][part] for kv in keys_and_values])
        scores = (keys @ q[part] / (width / heads) ** 0.5).exp()
        merged.append((scores / scores.sum()) @ values)
    u = query + read.proj.weight @ torch.cat(merged) + read.proj.bias
    hidden = torch.nn.functional.gelu(probe.mlp.fc1.weight @ norm(probe.mlp.norm, u) + probe.mlp.fc1.bias)
    u = u + probe.mlp.fc2.weight @ hidden + probe.mlp.fc2.bias
    return probe.head.weight @ u + probe.head.bias


def test_logits_are_those_of_a_loop():
    torch.manual_seed(0)
    probe = AttentiveProbe(12, 5, 3).double()
    for parameter in probe.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    tokens = torch.randn(2, 7, 12, dtype=torch.float64)
    expected = torch.stack([by_a_loop(probe, clip) for clip in tokens])
    torch.testing.assert_close(probe(tokens), expected, atol=1e-12, rtol=1e-12)
    assert not torch.allclose(probe(tokens), probe(tokens[:, 1:]))


@pytest.mark.parametrize(
    "model",
    [
        lambda **options: XViT(5, **CLIPS, **options),
        lambda **options: TimeSformer(5, **CLIPS, **options),
        lambda **options: ViViT(5, **CLIPS, **options),
        lambda **options: ViViT(5, **CLIPS, variant=2, **options),
    ],
)
def test_of_a_frozen_network_the_probe_alone_learns(model):
    """It reads all tokens, so a change of any patch of any frame reaches it."""
    probed = model(probe="attentive", freeze="backbone")
    clip = torch.randn(2, 3, 4, 32, 32, requires_grad=True)
    logits = probed(clip)
    logits.square().sum().backward()
    assert logits.shape == (2, 5) and clip.grad.ne(0).flatten(3).any(-1).all()
    learning = {name for name, parameter in probed.network.named_parameters() if parameter.grad is not None}
    assert learning == {f"aggregate.{name}" for name, _ in probed.network.aggregate.named_parameters()}


def test_weights_of_another_classifier_leave_the_probe_fresh_in_training():
    weights = XViT(5, **CLIPS).network.state_dict()
    network = XViT(5, **CLIPS, probe="attentive").network
    with pytest.raises(ValueError, match=r"lacks aggregate\..*aggregate\.mlp"):
        load_pretrained(network, weights)
    left_out = load_pretrained(network, weights, fresh_head=True)
    assert left_out.split(", ") == sorted(f"aggregate.{name}" for name in network.aggregate.state_dict())
    assert torch.equal(network.embed.pos_embed, weights["embed.pos_embed"])
    own = {key: value + 1 for key, value in network.state_dict().items()}
    assert load_pretrained(network, own, fresh_head=True) == ""
    assert torch.equal(network.aggregate.query_token, own["aggregate.query_token"])


def test_a_cnn_has_no_tokens():
    with pytest.raises(ValueError, match="has no tokens"):
        ConvNet(5, 8, 64, "slow", width=8, probe="attentive")
