"""Test X-ViT's temporal attention as the paper has it, z_final reading the frame tokens, against loops over tokens."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from lit_video.modules import XViT
from lit_video.network.aggregation import CrossTemporalAttention, TemporalAttention
from lit_video.network.vit import ViTSize

WIDTH, HEADS, CLASSES, FRAMES = 12, 3, 4, 5


def random_weights(module):
    torch.manual_seed(0)
    for name, parameter in module.named_parameters():
        torch.nn.init.normal_(parameter, mean=float(name.endswith("norm.weight")), std=0.4)
    return module.double().eval()


def cross(depth):
    return random_weights(CrossTemporalAttention(WIDTH, CLASSES, depth, num_heads=HEADS))


def frames(count=2, length=FRAMES):
    return torch.randn(count, length, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def read(layer, query, keys):
    """Return a token after a layer: it attends to a list of tokens, one softmax per head, and passes the MLP."""
    normed = [layer.attn.norm(token) for token in keys]
    c = WIDTH // HEADS
    heads = []
    for a in range(HEADS):
        of_head = slice(a * c, (a + 1) * c)
        q, k, v = (weight[of_head] for weight in layer.attn.qkv.weight.chunk(3))
        scores = [torch.dot(q @ layer.attn.norm(query), k @ token) / math.sqrt(c) for token in normed]
        total = sum(score.exp() for score in scores)
        heads.append(sum(score.exp() / total * (v @ token) for score, token in zip(scores, normed, strict=True)))
    token = query + layer.attn.proj(torch.cat(heads))
    return token + layer.mlp(token)


def by_loops(network, clip):
    """Return the logits of one clip: z_final and, before the last layer, each frame token read all frame tokens."""
    final = network.final_token[0, 0]
    tokens = list(clip)
    for layer in network.layers:
        final, tokens = read(layer, final, tokens), [read(layer, token, tokens) for token in tokens]
    return network.head(network.norm(final))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_equals_loops_over_tokens_and_heads(depth):
    network, clips = cross(depth), frames()
    expected = torch.stack([by_loops(network, clip) for clip in clips])
    torch.testing.assert_close(network(clips), expected, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("depth", [1, 3])
def test_the_order_of_frame_tokens_has_no_effect(depth):
    network, clips = cross(depth), frames()
    torch.testing.assert_close(network(clips[:, [3, 0, 4, 1, 2]]), network(clips), atol=1e-12, rtol=1e-12)


def test_the_logits_know_the_frame_tokens_through_z_final_alone():
    """Without values the layer is an MLP of z_final: every clip has one answer, and no frame token a gradient."""
    network, clips = cross(1), frames().requires_grad_()
    with torch.no_grad():
        network.layers[0].attn.qkv.weight[2 * WIDTH :] = 0
    logits = network(clips)
    torch.testing.assert_close(logits[0], logits[1], atol=1e-13, rtol=0)
    (gradient,) = torch.autograd.grad(logits.sum(), clips)
    assert not gradient.any()


def test_z_final_is_no_key_of_its_own():
    """Equal frame tokens have equal weights, whose sum is one only if z_final has none: the mean is their value."""
    network, clip = cross(1), frames(1, 1).expand(1, FRAMES, WIDTH)
    torch.testing.assert_close(network(clip), network(clip[:, :1]), atol=1e-12, rtol=1e-12)

    released = random_weights(TemporalAttention(WIDTH, CLASSES, 1, num_heads=HEADS))
    assert (released(clip) - released(clip[:, :1])).abs().max() > 1e-3


def test_one_layer_costs_as_much_for_each_further_frame():
    counts = {}
    for length in (4, 5, 6, 7):
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            cross(1)(frames(1, length))
        counts[length] = counter.get_total_flops()
    assert len({counts[t + 1] - counts[t] for t in (4, 5, 6)}) == 1


def test_dropout_is_that_of_the_frame_tokens_alone():
    network = CrossTemporalAttention(WIDTH, CLASSES, 2, num_heads=HEADS, dropout=0.3).double().train()
    clips = frames(64)
    torch.manual_seed(3)
    logits = network(clips)
    torch.manual_seed(3)
    dropped = F.dropout(clips, 0.3)
    torch.testing.assert_close(logits, network.eval()(dropped))


def test_the_option_puts_it_into_the_network():
    small = dict(num_classes=CLASSES, num_frames=4, image_size=16, patch_size=8, size=ViTSize(WIDTH, 1, HEADS))
    assert isinstance(XViT(**small, ta_attention="cross").network.aggregate, CrossTemporalAttention)
    assert isinstance(XViT(**small).network.aggregate, TemporalAttention)
    with pytest.raises(ValueError, match="ta_attention is 'half'"):
        XViT(**small, ta_attention="half")
