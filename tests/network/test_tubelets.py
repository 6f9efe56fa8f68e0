"""Tubelets are a three-dimensional convolution; uniformly sampled frames are those of exact arithmetic."""

from fractions import Fraction

import pytest
import torch
import torch.nn.functional as F
from einops import rearrange

from lit_video.network.patches import Patches
from lit_video.utils.spacing import uniform_frames


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("frames", "height", "width"), [(6, 8, 12), (12, 4, 8)])
def test_tubelets_are_a_convolution(k, frames, height, width):
    torch.manual_seed(0)
    patches = Patches(5, 4, k).double()
    clip = torch.randn(2, 3, frames, height, width, dtype=torch.float64)
    kernel = rearrange(patches.proj.weight, "d (c k) h w -> d c k h w", k=k)
    expected = F.conv3d(clip, kernel, patches.proj.bias, stride=(k, 4, 4))
    actual = rearrange(patches(clip), "b t h w d -> b d t h w")
    torch.testing.assert_close(actual, expected, atol=1e-12, rtol=0)
    assert patches.grid(frames, height, width) == expected.shape[2:]


def test_frames_of_the_published_example():
    assert uniform_frames(32, 8) == [4, 7, 11, 14, 18, 21, 25, 28]


def test_sampled_frames_are_those_of_exact_arithmetic_for_every_pair():
    for frames in range(1, 129):
        for sampled in range(1, frames):
            step = Fraction(frames, sampled + 1)
            numbers = uniform_frames(frames, sampled)
            assert numbers == [round(k * step) for k in range(1, sampled + 1)]
            assert numbers[0] >= 0 and numbers[-1] < frames and numbers == sorted(set(numbers)), (frames, sampled)


@pytest.mark.parametrize(("frames", "sampled"), [(4, 4), (4, 5), (1, 8)])
def test_all_frames_are_used_where_there_are_no_more(frames, sampled):
    assert uniform_frames(frames, sampled) == list(range(frames))


@pytest.mark.parametrize(("frames", "sampled", "k"), [(32, 8, 1), (9, 4, 2), (4, 6, 2)])
def test_tubelets_are_made_of_the_sampled_frames(frames, sampled, k):
    torch.manual_seed(0)
    patches, plain = Patches(5, 4, k, sampled), Patches(5, 4, k)
    plain.load_state_dict(patches.state_dict())
    clip = torch.randn(2, 3, frames, 4, 8)
    assert torch.equal(patches(clip), plain(clip[:, :, uniform_frames(frames, sampled)]))
    assert patches.grid(frames, 4, 8) == patches(clip).shape[1:4]


@pytest.mark.parametrize(
    ("options", "shape", "message"),
    [
        (dict(), (4, 8, 10), "image_size 8x10 is not divisible by the patch 4"),
        (dict(), (4, 3, 8), "image_size 3x8 is not divisible by the patch 4"),
        (dict(), (4, 0, 8), "image_size 0x8 is not divisible"),
        (dict(tubelet=2), (5, 8, 8), "frames 5 is not divisible into tubelets of 2"),
        (dict(tubelet=2), (1, 8, 8), "frames 1 is not divisible into tubelets of 2"),
        (dict(tubelet=2, sampled_frames=3), (8, 8, 8), "frames 3 is not divisible into tubelets of 2"),
        (dict(tubelet=2, sampled_frames=4), (3, 8, 8), "frames 3 is not divisible into tubelets of 2"),
    ],
)
def test_a_clip_that_does_not_divide_is_named(options, shape, message):
    patches = Patches(5, 4, **options)
    with pytest.raises(ValueError, match=message):
        patches(torch.zeros(1, 3, *shape))
    with pytest.raises(ValueError, match=message):
        patches.grid(*shape)


@pytest.mark.parametrize("name", ["patch", "tubelet", "sampled_frames"])
@pytest.mark.parametrize("value", [0, -1])
def test_numbers_below_one_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}, expected at least 1"):
        Patches(**dict(width=5, patch=4) | {name: value})
