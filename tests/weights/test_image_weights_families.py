"""Test that every family starts as the image model whose weights it takes, and which parameters stay fresh."""

import pytest
import timm
import torch
from einops import rearrange
from safetensors.torch import save_file

from lit_video.attention import MixingPlan
from lit_video.datamodules import VideoFolder
from lit_video.modules import XViT
from lit_video.network.embedding import ClipSize
from lit_video.network.timesformer import timesformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.network.xvit import xvit
from lit_video.utils.clip_shape import of_channels
from lit_video.weights.image_vit import load_image_vit
from lit_video.weights.settings import fold_pixels
from tests.weights.conftest import image_vit

SIZE, FRAMES = ViTSize(32, 2, 4), 4
CLIP = ClipSize((32, 32), 8, FRAMES)


def with_tanh(image):
    """Use the GELU's tanh approximation, as in ViViT's release."""
    for block in image.blocks:
        block.mlp.act = torch.nn.GELU(approximate="tanh")
    return image


def family(name):
    torch.manual_seed(1)
    kind, _, option = name.partition("_")
    if kind == "timesformer":
        return timesformer(SIZE, 5, CLIP, attention_type=option).double().eval()
    if kind == "vivit":
        temporal = "mean" if option.endswith("baseline") else "encoder"
        order = option[2:].removesuffix("_zero") if option[0] == "3" else "space_time"
        options = dict(order=order, zero_temporal=option.endswith("_zero"), temporal=temporal)
        return vivit(SIZE, 5, CLIP, variant=int(option[0]), **options).double().eval()
    plan = MixingPlan(window=0 if option == "spatial" else 1)
    return xvit(SIZE, 5, CLIP, plan=plan, exact=option == "exact").double().eval()


SCHEMES = ("space", "joint", "divided", "local_global", "axial", "space_before_time", "parallel")
TIMESFORMERS = [f"timesformer_{attention}" for attention in SCHEMES]
VIVITS = ["vivit_1", "vivit_2", "vivit_2_baseline", "vivit_3_space_time", "vivit_3_time_space", "vivit_4"]
VIVITS.append("vivit_3_space_time_zero")
XVITS = ["xvit", "xvit_exact", "xvit_spatial"]


@pytest.mark.parametrize("name", TIMESFORMERS + VIVITS + XVITS)
def test_all_of_the_backbone_is_the_image_s_and_the_rest_stays_as_it_was(name):
    network, weights = family(name), image_vit().double().state_dict()
    before = {key: value.clone() for key, value in network.state_dict().items()}
    load_image_vit(network, weights)
    image = {value.double().sum().item() for value in weights.values()}
    zeros = ("proj", "qkv") if name.endswith("_zero") else ("proj",)
    for key, value in network.state_dict().items():
        if key.startswith("aggregate.") or key == "embed.temp_embed" or "_fc." in key:
            assert torch.equal(value, before[key]), key
        elif key == "embed.pos_embed":
            assert not torch.equal(value, before[key]), key
        elif name.startswith("vivit_3") and any(f".time_attn.{part}." in key for part in zeros):
            assert not value.any(), key
        elif name.startswith("vivit_3") and ".time_attn.norm." in key:
            assert torch.equal(value, before[key]), key
        else:
            assert value.sum().item() in image, key


# clips for which class tokens are those of the image model: one frame, equal frames (time adds nothing at first; in the
# exact window all keys of a frame come equally often), or any frames
SAME = {
    **dict.fromkeys(["timesformer_space", "timesformer_joint", "timesformer_divided", "vivit_1"], "one"),
    **dict.fromkeys(["timesformer_space ", "timesformer_divided ", "timesformer_parallel", "xvit_exact"], "equal"),
    **dict.fromkeys(["vivit_2", "vivit_2_baseline", "xvit_spatial"], "any"),
}


@pytest.mark.parametrize("name", SAME)
def test_the_class_token_is_that_of_the_image(name):
    image, network = image_vit().double(), family(name.strip())
    load_image_vit(network, image.state_dict())
    if name.startswith("vivit"):
        with_tanh(image)
    clip = torch.randn(2, 3, 1 if SAME[name] == "one" else FRAMES, 32, 32, dtype=torch.float64)
    if SAME[name] == "equal":
        clip = clip[:, :, :1].expand_as(clip)
    with torch.no_grad():
        expected = image.forward_features(rearrange(clip, "b c t h w -> (b t) c h w"))[:, 0].unflatten(0, (2, -1))
        features = network.forward_features(clip).reshape(2, -1, 32)
    torch.testing.assert_close(features, expected[:, : features.shape[1]], atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("order", ["space_time", "time_space"])
def test_factorised_attention_starts_as_the_spatial_model_on_any_frames(order):
    """Compare with the image model without its class token, whose tokens are averaged over the clip."""
    image, network = with_tanh(image_vit().double()), family(f"vivit_3_{order}")
    load_image_vit(network, image.state_dict())
    clip = torch.randn(2, 3, FRAMES, 32, 32, dtype=torch.float64)
    with torch.no_grad():
        x = image.patch_embed(rearrange(clip, "b c t h w -> (b t) c h w")) + image.pos_embed[:, 1:]
        x = image.norm(image.blocks(x)).mean(1)
        torch.testing.assert_close(
            network.forward_features(clip), x.unflatten(0, (2, FRAMES)).mean(1), atol=1e-11, rtol=1e-11
        )


@pytest.mark.parametrize("how", ["central", "average"])
@pytest.mark.parametrize(("k", "variant"), [(1, 1), (2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (4, 2)])
def test_tubelets_start_as_the_image_s_patches_of_their_central_frame_or_of_the_mean_frame(k, variant, how):
    image, network = (
        image_vit().double(),
        vivit(SIZE, 5, ClipSize((32, 32), 8, 2 * k, tubelet_size=k), variant=variant).double(),
    )
    load_image_vit(network, image.state_dict(), how)
    clip = torch.randn(2, 3, 2 * k, 32, 32, dtype=torch.float64)
    tubelets = rearrange(clip, "b c (t k) h w -> (b t) k c h w", k=k)
    with torch.no_grad():
        expected = image.patch_embed(tubelets[:, k // 2] if how == "central" else tubelets.mean(1))
        actual = network.embed.patches(clip).flatten(2, 3).flatten(0, 1)
    torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-12)
    with pytest.raises(ValueError, match="tubelet_init is 'middle'"):
        load_image_vit(network, image.state_dict(), "middle")


IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def per_channel(values):
    return torch.tensor(values, dtype=torch.float64).view(3, 1, 1)


@pytest.mark.parametrize("mean", [0.45, (0.2, 0.3, 0.4)])
@pytest.mark.parametrize("channels", ["rgb", "bgr"])
@pytest.mark.parametrize("name", ["xvit_spatial", "timesformer_space", "tubelets"])
def test_pixels_of_the_image_model_are_folded_into_the_patches(name, channels, mean):
    """Check that clips in the data set's own pixels give the features of the image model's pixels."""
    image = image_vit().double()
    if name == "tubelets":
        network = (
            vivit(ViTSize(32, 2, 4, gelu="none"), 5, ClipSize((32, 32), 8, 2, tubelet_size=2), variant=1)
            .double()
            .eval()
        )
    else:
        network = family(name)
    load_image_vit(network, image.state_dict(), "average")
    fold_pixels(network.embed, *IMAGENET, data=dict(mean=mean, std=0.3, channels=channels))
    picture = torch.rand(2, 3, 32, 32, dtype=torch.float64)
    clip = (picture - per_channel([mean] * 3 if mean == 0.45 else mean)) / 0.3
    clip = clip if channels == "rgb" else clip.flip(1)
    with torch.no_grad():
        expected = image.forward_features((picture - per_channel(IMAGENET[0])) / per_channel(IMAGENET[1]))[:, 0]
        features = network.forward_features(clip[:, :, None].expand(-1, -1, 2, -1, -1)).reshape(2, -1, 32)
    torch.testing.assert_close(features, expected[:, None].expand_as(features), atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize(("mean", "std"), [(0.5, 0.5), IMAGENET])
def test_equal_pixels_change_no_bit(mean, std):
    network = family("xvit")
    before = {key: value.clone() for key, value in network.state_dict().items()}
    assert (
        fold_pixels(network.embed, *map(of_channels, (mean, std)), data=dict(mean=mean, std=std, channels="rgb")) == ""
    )
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())


@pytest.mark.parametrize(
    ("mean", "options", "said"),
    [(0.5, {}, "pixels of mean 0.485"), (0.5, dict(image_pixels="ignore"), ""), (None, {}, "pixels are not known")],
)
def test_training_says_what_it_does_about_pixels(mean, options, said, tmp_path, monkeypatch, capsys):
    """Timm names the pixels of its models; nothing is known of a bare file."""
    image, given = image_vit(), "timm:vit_tiny_patch16_224.augreg_in21k" if mean else str(tmp_path / "vit.safetensors")
    image.pretrained_cfg = dict(zip(("mean", "std"), IMAGENET, strict=True))
    save_file(image.state_dict(), tmp_path / "vit.safetensors")
    monkeypatch.setattr(timm, "create_model", lambda name, **options: image)
    model = XViT(5, FRAMES, 32, size=SIZE, patch_size=8, image_weights=given, **options)
    data = VideoFolder(root=str(tmp_path), num_frames=FRAMES, image_size=32)
    monkeypatch.setattr("lit_video.modules.classifier.videos_of", lambda model: data)
    model.setup("fit")
    out, kernel = capsys.readouterr().out, model.network.embed.patches.proj.weight
    assert said in out and ("pixels" in out) == bool(said)
    assert torch.equal(kernel, image.state_dict()["patch_embed.proj.weight"]) == ("0.485" not in said)
