"""Test sampled frames against exact arithmetic, and positions of other grids against their rules."""

from fractions import Fraction

import pytest
import torch
from scipy.ndimage import zoom

from lit_video.attention import Grid
from lit_video.network.embedding import ClipEmbedding, FrameEmbedding, JointEmbedding, Patches
from lit_video.network.positions import Positions, Resizing, resize_time
from lit_video.utils.clip_shape import uniform_frames
from tests.network.conftest import cubic


def test_sampled_frames_are_those_of_exact_arithmetic_for_every_pair():
    assert uniform_frames(32, 8) == [4, 7, 11, 14, 18, 21, 25, 28], "the published example"
    for frames in range(1, 129):
        for sampled in range(1, frames):
            step = Fraction(frames, sampled + 1)
            numbers = uniform_frames(frames, sampled)
            assert numbers == [round(k * step) for k in range(1, sampled + 1)]
            assert numbers[0] >= 0 and numbers[-1] < frames and numbers == sorted(set(numbers)), (frames, sampled)


@pytest.mark.parametrize(
    ("options", "shape", "message"),
    [
        (dict(), (4, 8, 10), "image_size 8x10 is not divisible by patch_size 4"),
        (dict(), (4, 0, 8), "image_size 0x8 is not divisible"),
        (dict(tubelet_size=2), (5, 8, 8), "frames 5 is not divisible into tubelets of 2"),
        (dict(tubelet_size=2, sampled_frames=3), (8, 8, 8), "frames 3 is not divisible into tubelets of 2"),
    ],
)
def test_a_clip_that_does_not_divide_is_named(options, shape, message):
    patches = Patches(5, 4, **options)
    with pytest.raises(ValueError, match=message):
        patches(torch.zeros(1, 3, *shape))
    with pytest.raises(ValueError, match=message):
        patches.grid(*shape)


@pytest.mark.parametrize(("std", "expected"), [(None, 0.02), (0.5, 0.5)])
def test_positions_start_with_the_spread_that_is_set(std, expected):
    torch.manual_seed(0)
    embed = FrameEmbedding(Patches(32, 4), 4, (64, 64), positions=Positions("space-time", std))
    assert embed.pos_embed.std().item() == pytest.approx(expected, rel=0.05)
    assert embed.temp_embed.std().item() == pytest.approx(std or 0.0, rel=0.2)


def test_unlike_vivits_release_positions_are_not_resized_with_aligned_corners():
    """Compare with the release's scipy.ndimage.zoom of order 1, which keeps the corners, as the docstring says."""
    table = torch.randn(1, 8, 3, dtype=torch.float64)
    of_release = zoom(table[0].numpy(), (6 / 8, 1), order=1)
    ours = resize_time(table, 6)[0]
    assert torch.equal(torch.from_numpy(of_release[[0, -1]]), table[0, [0, -1]])
    assert (ours[[0, -1]] - table[0, [0, -1]]).abs().max() > 0.01


def linear(source, target):
    """Return the matrix ``(target, source)`` of linear interpolation between centres, constant beyond the ends."""
    matrix = torch.zeros(target, source, dtype=torch.float64)
    for i in range(target):
        place = min(max((i + 0.5) * source / target - 0.5, 0), source - 1)
        left = min(int(place), source - 1)
        matrix[i, left] += 1 - (place - left)
        matrix[i, min(left + 1, source - 1)] += place - left
    return matrix


def nearest(source, target):
    """Return the matrix that selects the cell in which the left edge falls, by integers."""
    matrix = torch.zeros(target, source, dtype=torch.float64)
    for i in range(target):
        matrix[i, i * source // target] = 1
    return matrix


def test_repeated_positions_start_again_for_every_group_and_serve_whole_ones_only():
    stored = torch.randn(1, 2, 3)
    for groups in (1, 2, 3):
        assert torch.equal(resize_time(stored, 2 * groups, "repeat"), torch.cat([stored] * groups, dim=1))
        with pytest.raises(ValueError, match=f"num_frames {2 * groups - 1} is no multiple of 2, the temporal"):
            resize_time(stored, 2 * groups - 1, "repeat")


SOURCE = Grid(5, 4, 6)
EMBEDDINGS = {
    "frame": (FrameEmbedding, "space-time", True),
    "frame_without_cls": (FrameEmbedding, "space", False),
    "clip": (ClipEmbedding, "space-time", True),
    "clip_space": (ClipEmbedding, "space", True),
    "joint": (JointEmbedding, None, True),
    "joint_without_cls": (JointEmbedding, None, False),
}
RULES = {
    "bicubic_linear": (Resizing(), cubic, linear),
    "nearest": (Resizing("nearest", "nearest"), nearest, nearest),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("target", [SOURCE, Grid(3, 8, 3), Grid(7, 4, 1), Grid(1, 2, 6), Grid(8, 5, 4)])
@pytest.mark.parametrize("name", EMBEDDINGS)
def test_every_embedding_adds_the_positions_of_the_clip_s_own_grid(name, target, rule):
    """Embed clips of zeros, which leave only the bias, the class token and the positions."""
    kind, positions, cls = EMBEDDINGS[name]
    resizing, space, time = RULES[rule]
    tubelet = 2 if kind is JointEmbedding else 1
    options = dict(positions=Positions(positions, resizing=resizing)) if positions else {}
    size = 4 * SOURCE.h, 4 * SOURCE.w
    embed = kind(Patches(5, 4, tubelet), SOURCE.t * tubelet, size, cls=cls, **options).double()
    embed.resizing = resizing
    for parameter in embed.parameters():
        torch.nn.init.normal_(parameter)

    clip = torch.zeros(2, 3, target.t * tubelet, target.h * 4, target.w * 4, dtype=torch.float64)
    with torch.no_grad():
        tokens, grid = embed(clip)
        expected = tokens_of_zeros(embed, target, space=space, time=time)
    assert grid == target
    torch.testing.assert_close(tokens, expected.expand(2, -1, -1), atol=1e-12, rtol=0)


def tokens_of_zeros(embed, target, *, space, time):
    """Return the tokens ``(1, n, 5)`` of a clip of zeros on a grid, with positions that matrices resize."""
    slots = embed.slots
    matrices = [make(s, t) for make, s, t in zip((time, space, space), SOURCE, target, strict=True)]
    cells = embed.pos_embed[0, slots:]
    if isinstance(embed, JointEmbedding):
        cells = torch.einsum("o t, y h, x w, t h w d -> o y x d", *matrices, cells.unflatten(0, SOURCE))
    else:
        cells = torch.einsum("y h, x w, h w d -> y x d", *matrices[1:], cells.unflatten(0, SOURCE[1:]))
        cells = cells.expand(target.t, *cells.shape)

    times = torch.zeros(target.t, 5).double() if embed.temp_embed is None else matrices[0] @ embed.temp_embed[0]
    patches = (embed.patches.proj.bias + cells + times[:, None, None]).flatten(1, 2)
    if not slots:
        return patches.reshape(1, -1, 5)

    cls = (embed.cls_token + embed.pos_embed[:, :1])[0]
    if isinstance(embed, FrameEmbedding):
        return torch.cat((cls + times[:, None], patches), dim=1).reshape(1, -1, 5)
    return torch.cat((cls, patches.flatten(0, 1)), dim=0)[None]


def test_no_positions_are_no_parameters_and_the_class_token_is_left():
    for kind in (FrameEmbedding, ClipEmbedding):
        embed = kind(Patches(5, 4), 2, (8, 12), positions=Positions("none"))
        assert embed.pos_embed is None and embed.temp_embed is None and embed.cls_token is not None
