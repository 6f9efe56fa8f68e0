"""Every family starts as the image model whose weights it takes: what that means for each, and what stays fresh."""

import pytest
import torch
from einops import rearrange, repeat
from timm.models.vision_transformer import VisionTransformer

from lit_video.attention import MixingPlan
from lit_video.network.patches import ClipSize
from lit_video.network.timesformer import timesformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.network.xvit import xvit
from lit_video.weights.image_vit import inflate, load_image_vit

SIZE, FRAMES = ViTSize(32, 2, 4), 4
CLIP = ClipSize((32, 32), 8, FRAMES)


def image_vit():
    torch.manual_seed(0)
    model = VisionTransformer(img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=4, num_classes=7)
    for parameter in model.parameters():
        # timm starts biases at zero and norms at one, which hides those that are not loaded
        torch.nn.init.normal_(parameter, std=0.2)
    return model.double().eval()


def with_tanh(image):
    """ViViT's release has the GELU's approximation."""
    for block in image.blocks:
        block.mlp.act = torch.nn.GELU(approximate="tanh")
    return image


def family(name):
    torch.manual_seed(1)
    kind, _, option = name.partition("_")
    if kind == "timesformer":
        return timesformer(SIZE, 5, CLIP, option).double().eval()
    if kind == "vivit":
        temporal = "mean" if option.endswith("baseline") else "encoder"
        order = option[2:] if option[1:] and option[0] == "3" else "space_time"
        network = vivit(SIZE, 5, CLIP, int(option[0]), order=order, temporal=temporal)
        return network.double().eval()
    plan = MixingPlan(window=0 if option == "spatial" else 1)
    return xvit(SIZE, 5, CLIP, plan, exact=option == "exact").double().eval()


def still(frames=FRAMES, count=2):
    """Clips of equal frames, and the frame."""
    image = torch.randn(count, 3, 32, 32, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    return repeat(image, "b c h w -> b c t h w", t=frames), image


def tokens_of(image_model, images):
    with torch.no_grad():
        return image_model.forward_features(images)


TIMESFORMERS = [f"timesformer_{attention}" for attention in ("space", "joint", "divided", "local_global", "axial")]
VIVITS = ["vivit_1", "vivit_2", "vivit_2_baseline", "vivit_3_space_time", "vivit_3_time_space", "vivit_4"]
XVITS = ["xvit", "xvit_exact", "xvit_spatial"]


@pytest.mark.parametrize("name", TIMESFORMERS + VIVITS + XVITS)
def test_all_of_the_backbone_is_the_image_s_and_the_rest_stays_as_it_was(name):
    network, weights = family(name), image_vit().state_dict()
    before = {key: value.clone() for key, value in network.state_dict().items()}
    load_image_vit(network, weights)
    image = {value.double().sum().item() for value in weights.values()}
    for key, value in network.state_dict().items():
        if key.startswith("aggregate.") or key == "embed.temp_embed" or "_fc." in key:
            assert torch.equal(value, before[key]), key
        elif key == "embed.pos_embed":
            assert not torch.equal(value, before[key]), key
        elif name.startswith("vivit_3") and ".time_attn.proj." in key:
            assert not value.any(), key
        else:
            assert value.sum().item() in image, key


@pytest.mark.parametrize("name", [*TIMESFORMERS, "vivit_3_space_time"])
def test_what_starts_at_zero_is_zero(name):
    network = family(name)
    load_image_vit(network, image_vit().state_dict())
    zero = [key for key, value in network.state_dict().items() if key.startswith("blocks.") and not value.any()]
    steps = {"divided": 1, "local_global": 1, "axial": 2, "3_space_time": 1}.get(name.partition("_")[2], 0)
    assert len(zero) == 2 * steps * SIZE.depth


@pytest.mark.parametrize("name", ["timesformer_space", "timesformer_divided"])
def test_of_equal_frames_the_class_token_is_that_of_the_image(name):
    """Time adds nothing at first, and the mean over frames of equal class tokens is the token."""
    image, network = image_vit(), family(name)
    load_image_vit(network, image.state_dict())
    clip, frame = still()
    with torch.no_grad():
        torch.testing.assert_close(network.features(clip), tokens_of(image, frame)[:, 0], atol=1e-11, rtol=1e-11)


def test_of_equal_frames_the_exact_window_gives_the_image_s_class_token_of_every_frame():
    """Every key of a frame comes as often as every other: the softmax is that of the frame alone."""
    image, network = image_vit(), family("xvit_exact")
    load_image_vit(network, image.state_dict())
    clip, frame = still()
    expected = repeat(tokens_of(image, frame)[:, 0], "b d -> b t d", t=FRAMES)
    with torch.no_grad():
        torch.testing.assert_close(network.features(clip), expected, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("name", ["timesformer_space", "timesformer_joint", "timesformer_divided", "vivit_1"])
def test_of_one_frame_the_class_token_is_that_of_the_image(name):
    image, network = image_vit(), family(name)
    load_image_vit(network, image.state_dict())
    if name.startswith("vivit"):
        with_tanh(image)
        rows = network.embed.pos_embed.data[:, 1:].unflatten(1, (FRAMES, -1))
        assert torch.equal(rows, rows[:, :1].expand_as(rows))
    clip, frame = still(1)
    with torch.no_grad():
        torch.testing.assert_close(network.features(clip), tokens_of(image, frame)[:, 0], atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("name", ["vivit_2", "vivit_2_baseline", "xvit_spatial"])
def test_spatial_encoders_give_the_image_s_class_token_of_every_frame(name):
    image, network = image_vit(), family(name)
    load_image_vit(network, image.state_dict())
    clip = torch.randn(2, 3, FRAMES, 32, 32, dtype=torch.float64)
    if name.startswith("vivit"):
        with_tanh(image)
    expected = tokens_of(image, rearrange(clip, "b c t h w -> (b t) c h w"))[:, 0]
    with torch.no_grad():
        torch.testing.assert_close(network.features(clip).flatten(0, 1), expected, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("order", ["space_time", "time_space"])
def test_factorised_attention_starts_as_the_spatial_model_on_any_frames(order):
    """It has no class token: the image model without one, whose tokens are averaged over the clip."""
    image, network = with_tanh(image_vit()), family(f"vivit_3_{order}")
    load_image_vit(network, image.state_dict())
    clip = torch.randn(2, 3, FRAMES, 32, 32, dtype=torch.float64)
    with torch.no_grad():
        x = image.patch_embed(rearrange(clip, "b c t h w -> (b t) c h w")) + image.pos_embed[:, 1:]
        x = image.norm(image.blocks(x)).mean(1)
        torch.testing.assert_close(network.features(clip), x.unflatten(0, (2, FRAMES)).mean(1), atol=1e-11, rtol=1e-11)


def test_attention_over_time_that_adds_nothing_at_first_learns():
    """The gradient reaches what ends in zeros, and after one step what lies before it."""
    for name in ("timesformer_divided", "timesformer_local_global", "timesformer_axial", "vivit_3_space_time"):
        network = family(name)
        load_image_vit(network, image_vit().state_dict())
        added = [p for key, p in network.named_parameters() if "_attn." in key or "_fc." in key]
        clip, label = torch.randn(2, 3, FRAMES, 32, 32, dtype=torch.float64), torch.tensor([0, 1])
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(clip), label).backward()
            optimizer.step()
        assert all(parameter.grad.any() for parameter in added), name


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_central_frame_of_a_tubelet_is_number_k_over_2(k):
    kernel = torch.randn(5, 3, 2, 2)
    frames = rearrange(inflate(kernel, k, "central"), "d (c k) h w -> k d c h w", k=k)
    for i in range(k):
        assert torch.equal(frames[i], kernel if i == k // 2 else torch.zeros_like(kernel))


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_filter_inflation_divides_by_the_frames_of_a_tubelet(k):
    kernel = torch.randn(5, 3, 2, 2)
    frames = rearrange(inflate(kernel, k, "average"), "d (c k) h w -> k d c h w", k=k)
    torch.testing.assert_close(frames, repeat(kernel / k, "d c h w -> k d c h w", k=k))


@pytest.mark.parametrize("variant", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [2, 3])
def test_tubelets_start_as_the_image_s_patches_of_their_central_frame_or_of_equal_frames(k, variant):
    image = image_vit()
    clip = torch.randn(2, 3, 2 * k, 32, 32, dtype=torch.float64)
    for how in ("central", "average"):
        network = vivit(SIZE, 5, ClipSize((32, 32), 8, 2 * k, k), variant).double().eval()
        load_image_vit(network, image.state_dict(), how)
        frames = clip[:, :, k // 2 :: k]
        seen = clip if how == "central" else frames.repeat_interleave(k, dim=2)
        with torch.no_grad():
            expected = image.patch_embed(rearrange(frames, "b c t h w -> (b t) c h w")).unflatten(0, (2, 2))
            actual = network.embed.patches(seen).flatten(2, 3)
        torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-12)


def test_an_unknown_start_of_tubelets_is_named_and_nothing_is_changed():
    network = family("vivit_1")
    before = {key: value.clone() for key, value in network.state_dict().items()}
    with pytest.raises(ValueError, match="tubelet_init is 'middle'"):
        load_image_vit(network, image_vit().state_dict(), "middle")
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())
