"""Test the rollout of networks of every family, and the frames that a map belongs to."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from lit_video.attention import Scheme
from lit_video.inference.rollout import patch_places, rollout, tubelet_frames
from lit_video.modules import TimeSformer
from lit_video.network.vit import ViTSize
from tests.network.test_networks_run import NETWORKS, build

SIDE = 8  # two by two patches of 4


def network(name):
    return build(name, num_frames=6).double(), torch.randn(1, 3, 6, SIDE, SIDE, dtype=torch.float64)


def by_gradients(built, clip):
    """Return a mask ``(t, h, w)`` of the patches that the logits depend on."""
    kept = {}

    def embedded(module, inputs, output):
        kept["tokens"], kept["grid"] = output[0].detach().requires_grad_(), output[1]
        return kept["tokens"], output[1]

    handle = built.embed.register_forward_hook(embedded)
    out = built(clip)
    handle.remove()
    place = patch_places(kept["tokens"].shape[1], kept["grid"], built.embed.prefix)
    (gradient,) = torch.autograd.grad((out * torch.randn_like(out)).sum(), kept["tokens"])
    return gradient[0].abs().amax(-1)[place] > 1e-12


@pytest.mark.parametrize("name", NETWORKS)
def test_every_family_is_followed_to_its_patches(name):
    built, clip = network(name)
    result = rollout(built, clip)
    assert torch.equal(result.patches > 1e-12, by_gradients(built, clip))
    assert result.patches.min() >= 0
    assert 0 <= result.other + 1e-9 < 1
    assert result.patches.std() > 1e-4
    with torch.no_grad():
        torch.testing.assert_close(result.logits, built(clip), atol=1e-12, rtol=1e-12)


def test_what_is_left_of_a_network_without_class_tokens_is_nothing():
    assert rollout(*network("vivit_3")).other == pytest.approx(0, abs=1e-12)
    assert rollout(*network("timesformer_joint")).other > 0.1


@pytest.mark.parametrize("name", ["vivit_1", "vivit_1_sampled", "xvit_mean", "perceiver_twice"])
def test_frames_of_a_map_are_those_that_it_changes_with(name):
    built, clip = network(name)
    clip.requires_grad_()
    x, grid = built.embed(clip)
    place = patch_places(x.shape[1], grid, built.embed.prefix)
    for t, frames in enumerate(tubelet_frames(built.embed.patches, 6)):
        (gradient,) = torch.autograd.grad(x[0, place[t]].sum(), clip, retain_graph=True)
        assert gradient.abs().amax((0, 1, 3, 4)).nonzero().flatten().tolist() == frames


def test_an_activation_that_the_rollout_does_not_support_is_refused():
    built, clip = network("xvit_mean")
    built.aggregate.drop = torch.nn.Tanh()
    with pytest.raises(ValueError, match="holds layers that the rollout does not know"):
        rollout(built, clip)


class Masked(Scheme):
    """Attention to a clip's first tokens, with a scale, as a call of PyTorch's function with keywords."""

    def __init__(self, dim, num_heads, call):
        super().__init__()
        self.qkv = torch.nn.Linear(dim, 3 * dim)
        self.call = call

    def forward(self, x, grid):
        query, key, value = (part[:, None] for part in self.qkv(x).chunk(3, dim=-1))
        return x + self.call(query, key, value)[:, 0]


def first_tokens(query, key, value):
    mask = torch.arange(key.shape[2]) < 5
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask.expand(query.shape[2], -1), scale=2.0)


def earlier_tokens(query, key, value):
    return F.scaled_dot_product_attention(query=query, key=key, value=value, is_causal=True)


@pytest.mark.parametrize("call", [first_tokens, earlier_tokens])
def test_masks_and_scales_by_keyword_are_followed(call):
    kind = partial(Masked, call=call)
    size = ViTSize(16, 2, 2)
    model = TimeSformer(4, num_frames=4, image_size=16, size=size, patch_size=4, attention_type="space", dropout=0.0)
    built, clip = model.network.double().eval(), torch.randn(1, 3, 4, 16, 16, dtype=torch.float64)
    for block in built.blocks:
        block.scheme = kind(16, 2).double()
    assert torch.allclose(rollout(built, clip).logits, built(clip))


def test_the_tokens_that_token_learner_chooses_get_the_share():
    scheme = "lit_video.attention.token_learner.TokenLearner"
    size = ViTSize(16, 1, 2)
    model = TimeSformer(4, num_frames=4, image_size=16, size=size, patch_size=4, attention_type=scheme, dropout=0.0)
    built, clip = model.network.double().eval(), torch.randn(1, 3, 4, 16, 16, dtype=torch.float64)
    for parameter in built.blocks.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    in_a_frame = rollout(built, clip).patches.flatten(1)
    assert (in_a_frame.amax(1) > 1.1 * in_a_frame.amin(1)).all()


@pytest.mark.parametrize(
    "name", ["shifted_windows.SmallWindows", "token_learner.TokenLearner", "trajectory.Trajectory"]
)
def test_schemes_of_the_literature_are_followed_to_their_patches(name):
    scheme = f"lit_video.attention.{name}"
    model = TimeSformer(
        4, num_frames=4, image_size=16, size=ViTSize(16, 2, 2), patch_size=4, attention_type=scheme, dropout=0.0
    )
    built, clip = model.network.double().eval(), torch.randn(1, 3, 4, 16, 16, dtype=torch.float64)
    result = rollout(built, clip)
    assert torch.equal(result.patches > 1e-12, by_gradients(built, clip))
    assert result.patches.min() >= 0 and float(result.patches.sum()) + result.other == pytest.approx(1)
