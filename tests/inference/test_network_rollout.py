"""Rollout of whole networks: every family, the frames that a map belongs to, and one head alone."""

import pytest
import torch

from lit_video.inference.rollout import Recording, patch_places, rollout, tubelet_frames
from lit_video.modules import TimeSformer, XViT
from lit_video.network.vit import ViTSize
from tests.network.test_networks_run import NETWORKS, build

SIDE = 8  # two by two patches of 4
HEADED = [name for name in NETWORKS if not name.startswith("perceiver")]


def network(name):
    return build(name, frames=6).double(), torch.randn(1, 3, 6, SIDE, SIDE, dtype=torch.float64)


def by_gradients(built, clip):
    """Patches ``(t, h, w)`` that the logits change with."""
    kept = {}

    def embedded(module, inputs, output):
        kept["tokens"], kept["grid"] = output[0].detach().requires_grad_(), output[1]
        return kept["tokens"], output[1]

    handle = built.embed.register_forward_hook(embedded)
    out = built(clip)
    handle.remove()
    place = patch_places(kept["tokens"].shape[1], kept["grid"])
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


def test_the_last_layer_alone_is_a_network_of_one_layer():
    built, clip = network("timesformer_joint")
    alone = rollout(built, clip, last_layer=True)
    assert not torch.allclose(alone.patches, rollout(built, clip).patches)
    z, grid = built.embed(clip)
    z = built.blocks[0](z, grid)
    attn = built.blocks[1].scheme.attn
    q, k, _ = attn.project(attn.norm(z)).unbind(-3)
    weights = torch.einsum("mac,jac->amj", q[0], k[0]).div(8**0.5).softmax(-1).mean(0)
    torch.testing.assert_close(alone.patches.flatten(), weights[0, 1:].detach() / 2, atol=1e-12, rtol=1e-12)


# which frames a map belongs to


@pytest.mark.parametrize("name", ["vivit_1", "vivit_1_sampled", "xvit_mean", "perceiver_twice"])
def test_frames_of_a_map_are_those_that_it_changes_with(name):
    built, clip = network(name)
    clip.requires_grad_()
    x, grid = built.embed(clip)
    place = patch_places(x.shape[1], grid)
    for t, frames in enumerate(tubelet_frames(built.embed.patches, 6)):
        (gradient,) = torch.autograd.grad(x[0, place[t]].sum(), clip, retain_graph=True)
        assert gradient.abs().amax((0, 1, 3, 4)).nonzero().flatten().tolist() == frames


def test_heads_of_latents_are_refused():
    with pytest.raises(ValueError, match="latents, whose heads read no patches"):
        rollout(*network("perceiver"), head=0)


def test_an_activation_that_the_rollout_does_not_support_is_refused():
    built, clip = network("xvit_mean")
    built.aggregate.drop = torch.nn.Sigmoid()
    with pytest.raises(ValueError, match="holds layers that the rollout does not know"):
        rollout(built, clip)


# one head


# the class token does not read what these add to patches last, over time
UNREAD = {"timesformer_space_before_time", "timesformer_parallel"}


@pytest.mark.parametrize("last_layer", [False, True])
@pytest.mark.parametrize("name", [name for name in HEADED if name not in UNREAD])
def test_the_mean_over_the_heads_of_the_last_step_is_the_rollout(name, last_layer):
    """Every head alone, averaged, is the whole where each row of the step sums to the same: all but at clip ends."""
    built, clip = network(name)
    whole = rollout(built, clip, last_layer=last_layer)
    heads = [rollout(built, clip, last_layer=last_layer, head=head) for head in (0, 1)]
    assert (heads[0].patches - heads[1].patches).abs().max() > 1e-5
    for one in heads:
        assert one.patches.min() >= 0
        torch.testing.assert_close(one.logits, whole.logits)
    mixes = name.startswith("xvit") and name not in ("xvit_exact",)
    if not mixes:  # a head that reads beyond the clip's ends has less of a say in the whole
        torch.testing.assert_close((heads[0].patches + heads[1].patches) / 2, whole.patches, atol=1e-9, rtol=1e-6)


def test_a_head_is_followed_to_the_patch_that_it_alone_attends():
    """Two heads of one layer of spatial attention: their rows of weights, with the residual's half."""
    torch.manual_seed(0)
    built = XViT(3, 2, SIDE, ViTSize(16, 1, 2), 4, window=0, ta_layers=0).network.double().eval()
    clip = torch.randn(1, 3, 2, SIDE, SIDE, dtype=torch.float64)
    for parameter in built.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    with torch.no_grad(), Recording() as recording:
        built(clip)
    for head in (0, 1):
        # the class token of each frame, of which the mean is classified; its own share is no patch's
        expected = 0.5 * recording.weights[0][:, head, 0, 1:] / 2
        torch.testing.assert_close(rollout(built, clip, head=head).patches.flatten(1), expected)


def test_a_head_is_of_the_step_that_is_executed_last():
    """Model 3 in time-space order: heads of space, whose step is registered first, over the mean of those of time."""
    built, clip = network("vivit_3_time_space")
    scheme = built.blocks[-1].scheme
    z, grid = built.embed(clip)
    z = built.blocks[0](z, grid)
    y = z + scheme._time(z, grid)
    frame, place = torch.arange(12) // 4, torch.arange(12) % 4
    attention = []  # (heads, tokens, tokens), of tokens of one place, and of one frame
    for heads, x, group in ((scheme.time_attn, z, place), (scheme.attn, y, frame)):
        q, k, _ = heads.project(heads.norm(x[0])).unbind(-3)
        scores = torch.einsum("mac,jac->amj", q, k) / 8**0.5
        attention.append(scores.masked_fill(group[:, None] != group, -torch.inf).softmax(-1))
    before = (torch.eye(12) + attention[0].mean(0)) / 2
    for head in (0, 1):
        expected = ((torch.eye(12) + attention[1][head]) / 2 @ before).mean(0)
        patches = rollout(built, clip, last_layer=True, head=head).patches
        torch.testing.assert_close(patches.flatten(), expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["shifted_windows.SmallWindows", "token_learner.TokenLearner", "trajectory.Trajectory"]
)
def test_schemes_of_the_literature_are_followed_to_their_patches(name):
    scheme = f"lit_video.attention.{name}"
    model = TimeSformer(4, frames=4, image_size=16, size=ViTSize(16, 2, 2), patch=4, attention=scheme, dropout=0.0)
    built, clip = model.network.double().eval(), torch.randn(1, 3, 4, 16, 16, dtype=torch.float64)
    result = rollout(built, clip)
    assert torch.equal(result.patches > 1e-12, by_gradients(built, clip))
    assert result.patches.min() >= 0 and float(result.patches.sum()) + result.other == pytest.approx(1)
