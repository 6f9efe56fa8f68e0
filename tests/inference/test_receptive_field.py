"""What a token reads, measured by gradients, equals index sets written down by hand."""

from itertools import product

import pytest
import torch

from lit_video.inference.receptive_field import layers_needed, steps_read
from lit_video.modules import Perceiver, TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize

T, H, W = 6, 4, 4
QUERY = (2, 1, 2)
CLIP = torch.zeros(1, 3, T, 8 * H, 8 * W)
SMALL = dict(num_classes=3, frames=T, image_size=8 * H, size=ViTSize(16, 3, 2), patch=8)


def where(condition):
    """The patches (t, h, w) for which it holds."""
    cells = torch.zeros(T, H, W, dtype=torch.bool)
    for cell in product(range(T), range(H), range(W)):
        cells[cell] = condition(*cell)
    return cells


def frame(*distances):
    return where(lambda t, h, w: t - QUERY[0] in distances)


OWN = frame(0)
PLACE = where(lambda t, h, w: (h, w) == QUERY[1:])
ALL = where(lambda t, h, w: True)
STEPS = {
    "space": (TimeSformer, {"attention": "space"}, [OWN]),
    "joint": (TimeSformer, {"attention": "joint"}, [ALL]),
    "divided": (TimeSformer, {"attention": "divided"}, [PLACE, OWN]),
    "local-global": (
        TimeSformer,
        {"attention": "local_global"},
        [where(lambda t, h, w: h < 2 <= w), where(lambda t, h, w: (t % 2, h % 2, w % 2) == (0, 1, 0))],
    ),
    "axial": (
        TimeSformer,
        {"attention": "axial"},
        [PLACE, OWN & where(lambda t, h, w: h == QUERY[1]), OWN & where(lambda t, h, w: w == QUERY[2])],
    ),
    "t_w = 0": (XViT, {"window": 0}, [OWN]),
    "t_w = 1": (XViT, {"window": 1}, [frame(-1, 0, 1)]),
    "t_w = 2": (XViT, {"window": 2}, [frame(-2, -1, 0, 1, 2)]),
    "t_w = 2 (Bo.)": (XViT, {"window": 2, "boundary": True}, [frame(-2, 0, 2)]),
    "exact": (XViT, {"exact": True}, [frame(-1, 0, 1)]),
    "causal": (XViT, {"window": 2, "causal": True, "positions": "space"}, [frame(-2, -1, 0)]),
    "exact causal": (XViT, {"exact": True, "causal": True, "positions": "space"}, [frame(-1, 0)]),
    "ViViT 2": (ViViT, {"variant": 2, "tubelet": 1}, [OWN]),
    "ViViT 3": (ViViT, {"variant": 3, "tubelet": 1}, [OWN, PLACE]),
    "ViViT 4": (ViViT, {"variant": 4, "tubelet": 1}, [OWN | PLACE]),
}


def network(name):
    family, settings, _ = STEPS[name]
    return family(**SMALL, **settings).network


@pytest.mark.parametrize("name", STEPS)
def test_each_step_reads_its_index_set(name):
    model = network(name)
    read = list(steps_read(model, CLIP, QUERY).values())
    assert len(read) == len(STEPS[name][2])
    for ours, expected in zip(read, STEPS[name][2], strict=True):
        assert torch.equal(ours, expected)


@pytest.mark.parametrize(
    ("name", "by_frame"),
    [
        ("space", [0, 0, 1, 0, 0, 0]),
        ("divided", [1] * 6),
        ("t_w = 1", [2, 1, 1, 1, 2, 3]),
        ("t_w = 2 (Bo.)", [1, 0, 1, 0, 1, 0]),
        ("exact", [2, 1, 1, 1, 2, 3]),
        ("causal", [1, 1, 1, 0, 0, 0]),
        ("exact causal", [2, 1, 1, 0, 0, 0]),
    ],
)
def test_layers_carry_content_on(name, by_frame):
    expected = torch.tensor(by_frame).view(T, 1, 1).expand(T, H, W)
    assert torch.equal(layers_needed(network(name), CLIP, QUERY), expected)


def test_heads_in_time_and_space_need_two_layers():
    needed = layers_needed(network("ViViT 4"), CLIP, QUERY)
    assert torch.equal(needed, torch.where(OWN | PLACE, 1, 2))


def test_latents_have_no_patches():
    model = Perceiver(3, frames=T, image_size=8 * H, size=ViTSize(16, 2, 2), patch=8, latents=4).network
    with pytest.raises(ValueError, match="attention scheme"):
        steps_read(model, CLIP, QUERY)
    with pytest.raises(ValueError, match="tokens"):
        layers_needed(model, CLIP, QUERY)
