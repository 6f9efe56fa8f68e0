"""Test the embedding with convolutions before the patches."""

import pytest
import torch

from lit_video.modules import XViT
from lit_video.network.embedding import FrameEmbedding, Patches
from lit_video.network.stem import StemEmbedding
from lit_video.network.vit import ViTSize

SIZE = ViTSize(embed_dim=32, depth=2, num_heads=2)


def seen(embedding):
    """Return the pixels of a clip of 8 frames that the token in the middle of frame 3 depends on: ``(t, h, w)``."""
    clip = torch.randn(1, 3, 8, 64, 64, requires_grad=True)
    tokens, grid = embedding(clip)
    patches = tokens.reshape(grid.t, -1, tokens.shape[-1])[3, 1:]
    patches[4 * grid.w + 4].sum().backward()
    return clip.grad[0].abs().sum(0) > 0


def convolutions_alone(embedding):
    """Replace the norms, which see the whole clip, by nothing."""
    for number, layer in enumerate(embedding.patches.stem):
        if isinstance(layer, torch.nn.GroupNorm):
            embedding.patches.stem[number] = torch.nn.Identity()
    return embedding


def test_a_patch_sees_across_its_border_and_two_frames_to_each_side():
    embedding = convolutions_alone(StemEmbedding(Patches(32, 8), 8, (64, 64)))
    pixels = seen(embedding)
    assert pixels.any((1, 2)).tolist() == [number in range(1, 6) for number in range(8)]
    assert pixels.any(0).any(0).sum() == 8 + 6
    assert seen(FrameEmbedding(Patches(32, 8), 8, (64, 64))).sum() == 64


def test_it_is_an_embedding_of_xvit_and_trains():
    model = XViT(5, 8, 32, size=SIZE, patch_size=8, embedding=StemEmbedding)
    clips = torch.randn(2, 3, 8, 32, 32)
    model(clips).sum().backward()
    assert model(clips).shape == (2, 5)
    assert all(parameter.grad is not None for parameter in model.network.embed.patches.parameters())


def test_its_norms_see_the_whole_clip_so_a_causal_model_refuses_it():
    embedding = StemEmbedding(Patches(32, 8), 8, (64, 64))
    assert seen(embedding).all(), "the docstring says so"
    with pytest.raises(ValueError, match=r"causal.*StemEmbedding"):
        XViT(5, 8, 32, size=SIZE, patch_size=8, embedding=StemEmbedding, causal=True, positions="space")


def test_patches_that_the_convolutions_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="patch_size is 6"):
        XViT(5, 8, 36, size=SIZE, patch_size=6, embedding=StemEmbedding)
