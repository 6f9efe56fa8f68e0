"""Test drawn videos: labels, pixels, reversal, actors."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks.pretraining.drawn.actors import ACTOR_KINDS
from benchmarks.pretraining.drawn.catalogue import MOTIONS
from benchmarks.pretraining.drawn.contours import CONTOURS, cover
from benchmarks.pretraining.drawn.degradations import compressed
from benchmarks.pretraining.drawn.sprites import LONGEST_STEP
from benchmarks.pretraining.drawn.textures import HUES, TEXTURES, texture
from benchmarks.pretraining.drawn.video import TASKS, Labels, draw_labels, draw_video

pytestmark = pytest.mark.slow  # hundreds, of code that no command of the package runs

PLAIN = Labels(motion="grows", speed="steady", camera="still", kind="shape", contour="disk", texture="flat", hue=0)
MOTION_OF_KIND = {
    "shape": "orbits clockwise",
    "person": "swings the left arm, quickly there, slowly back",
    "chain": "curls",
    "pair": "parting",
}


def video(labels, seed=0, frames=8, side=48, degradation=0.0):
    return drawn(labels, seed, frames, side=side, degradation=degradation).frames


def drawn(labels, seed=0, frames=8, *, side=48, degradation=0.0):
    rng = np.random.default_rng(seed)
    return draw_video(rng, labels, frames, side=side, degradation=degradation, flow=True)


@pytest.mark.parametrize("kind", ACTOR_KINDS)
def test_a_video_played_backwards_is_that_of_the_reversed_labels(kind):
    labels = replace(PLAIN, motion=MOTION_OF_KIND[kind], kind=kind, camera="pans left", speed="speeding")
    forward = video(labels)
    backward = video(labels.reversed)[::-1].astype(int)
    assert labels.reversed.motion != labels.motion
    assert np.abs(forward - backward).max() <= 1  # rounding
    assert np.abs(forward - backward[::-1]).max() > 20


@pytest.mark.parametrize("kind", ACTOR_KINDS)
def test_the_same_frames_backwards_have_the_flow_of_the_reversed_labels(kind):
    labels = replace(PLAIN, motion=MOTION_OF_KIND[kind], kind=kind, camera="pans left", speed="speeding")
    films = {}
    for backwards in (False, True):
        films[backwards] = draw_video(
            np.random.default_rng(0), labels, 8, side=48, degradation=1.0, flow=True, backwards=backwards
        )
    assert np.array_equal(films[True].frames, films[False].frames[::-1])  # light, noise and compression, too

    redrawn = drawn(labels.reversed)
    both = (films[True].flow[:, 2] == 1) & (redrawn.flow[:, 2] == 1)
    assert both.mean() > 0.5
    assert np.abs(films[True].flow[:, :2] - redrawn.flow[:, :2]).transpose(0, 2, 3, 1)[both].max() < 1e-4


@pytest.mark.parametrize("kind", ACTOR_KINDS)
def test_an_actor_moves_and_the_scene_stands_still(kind):
    labels = replace(PLAIN, motion=MOTION_OF_KIND[kind], kind=kind)
    frames = video(labels).astype(int)
    changed = np.abs(np.diff(frames, axis=0)).max((0, 1)) > 8
    assert 0.01 < changed.mean() < 0.8
    assert (changed[0, :3] | changed[-1, -3:]).mean() < 0.5  # corners are background


def test_a_shape_that_moves_right_moves_right():
    labels = replace(PLAIN, motion="moves right", texture="stripes")
    steps = []
    for seed in range(12):
        frames = video(labels, seed, frames=16).astype(float)
        actor = np.abs(frames - np.median(frames, 0)).sum(1) > 60
        turns = np.exp(2j * np.pi * np.arange(48) / 48 / 1.2)
        centres = np.angle(actor.sum(1) @ turns)
        step = np.diff(centres)
        steps.append(np.median(np.angle(np.exp(1j * step))))
    assert np.mean(np.array(steps) > 0) > 0.9


def test_labels_are_drawn_each_on_its_own_and_all_of_them():
    rng = np.random.default_rng(0)
    labels = [draw_labels(rng, tuple(MOTIONS), 0.5) for _ in range(5000)]
    numbers = np.array([one.numbers for one in labels])
    for column, classes in enumerate(TASKS.values()):
        assert set(numbers[:, column]) == set(range(len(classes)))
    assert all(one.kind in MOTIONS[one.motion].kinds for one in labels)
    still = np.mean([one.camera == "still" for one in labels])
    assert 0.45 < still < 0.55


def test_a_label_has_the_number_of_its_name():
    numbers = replace(PLAIN, kind="person", hue=3).numbers
    names = [classes[number] for classes, number in zip(TASKS.values(), numbers, strict=True)]
    assert names == ["grows", "steady", "still", "person", "flat", HUES[3]]


@pytest.mark.parametrize("side", [16, 48, 64, 112])
@pytest.mark.parametrize("frames", [2, 16])
def test_any_size_is_drawn_in_bytes_with_light_and_shade(side, frames):
    rng = np.random.default_rng(side + frames)
    video = draw_video(rng, draw_labels(rng, tuple(MOTIONS), 1.0), frames, side=side, flow=True)
    assert video.frames.shape == video.flow.shape == (frames, 3, side, side)
    assert video.frames.dtype == np.uint8
    assert video.frames.std() > 5


def warped(frame, flow):
    """Return a frame as it was before the flow, and which pixels stay inside of it."""
    side = frame.shape[-1]
    places = (torch.arange(side) + 0.5) / side
    rows, columns = torch.meshgrid(places, places, indexing="ij")
    grid = 2 * torch.stack([columns + flow[0], rows + flow[1]], -1) - 1
    before = torch.nn.functional.grid_sample(frame[None], grid[None], align_corners=False)[0]
    return before, (grid.abs() < 1).all(-1)


@pytest.mark.parametrize("moving_camera", [0.0, 1.0])
@pytest.mark.parametrize("kind", ACTOR_KINDS)
def test_the_flow_leads_to_the_same_thing_in_the_next_frame(kind, moving_camera):
    motions = tuple(name for name, motion in MOTIONS.items() if kind in motion.kinds)
    error = 0.0
    unmoved = 0.0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        labels = replace(draw_labels(rng, motions, moving_camera), kind=kind)
        video = draw_video(rng, labels, 8, side=64, degradation=0.0, flow=True)
        frames = torch.from_numpy(video.frames).float()
        for now, later, flow in zip(frames, frames[1:], torch.from_numpy(video.flow), strict=False):
            before, inside = warped(later, flow)
            moves = inside & (flow[2] > 0.99) & (flow[:2].norm(dim=0) > 0.01)
            error += float((before - now).abs().mean(0)[moves].sum())
            unmoved += float((later - now).abs().mean(0)[moves].sum())
    assert error < 0.6 * unmoved  # the rest: edges, and grain that interpolation blurs


@pytest.mark.parametrize("kind", ACTOR_KINDS)
def test_pixels_are_the_same_without_the_flow(kind):
    labels = replace(PLAIN, motion=MOTION_OF_KIND[kind], kind=kind, camera="pans left")
    alone = draw_video(np.random.default_rng(3), labels, 8, side=48)
    beside = draw_video(np.random.default_rng(3), labels, 8, side=48, flow=True)
    np.testing.assert_array_equal(alone.frames, beside.frames)
    assert alone.flow is None


def test_the_flow_of_a_still_scene_is_zero_and_that_of_the_last_frame_unknown():
    video = drawn(replace(PLAIN, motion=MOTION_OF_KIND["person"], kind="person"))
    assert np.abs(video.flow[:-1, :2, :2, :2]).max() < 1e-6
    assert (video.flow[:-1, 2, :2, :2] == 1).all()
    assert not video.flow[-1].any()


def test_what_jumps_to_the_opposite_edge_has_no_known_flow():
    labels = replace(PLAIN, motion="moves right", texture="stripes")
    flows = np.stack([drawn(labels, seed, frames=16).flow[:-1] for seed in range(12)])
    assert flows[:, :, :2].max() < LONGEST_STEP
    assert (flows[:, :, 2] < 0.5).any()
    moving = np.abs(flows[:, :, :2]).sum(2) > 0.02
    assert (flows[:, :, 0][moving] > 0).mean() > 0.95


@pytest.mark.parametrize("family", TEXTURES)
def test_a_texture_is_a_periodic_field_from_0_to_1(family):
    field = texture(np.random.default_rng(0), family, 64)
    assert field.dtype == np.float32
    assert field.shape == (64, 64)
    assert 0 <= field.min() <= field.max() <= 1
    if family not in ("flat", "speckle"):
        inside = np.abs(np.diff(field, axis=0)).max()
        seam = np.abs(field[0] - field[-1]).max()
        assert seam <= 1.5 * inside


@pytest.mark.parametrize("contour", CONTOURS)
def test_a_contour_covers_part_of_its_sprite(contour):
    inside = cover(np.random.default_rng(0), contour, 40)
    assert 0 <= inside.min() <= inside.max() <= 1
    assert 0.1 < inside.mean() < 0.85


def test_compression_keeps_the_mean_of_blocks_and_loses_detail():
    frames = np.random.default_rng(0).random((2, 3, 16, 24), np.float32)
    # half of the videos are left as they are
    strong = [seed for seed in range(20) if np.random.default_rng(seed).uniform(-1, 1) > 0.5]
    rng = np.random.default_rng(strong[0])
    done = compressed(rng, frames.copy(), 1.0)
    assert done.shape == frames.shape
    assert not np.allclose(done, frames, atol=0.02)
    before = frames.reshape(2, 3, 2, 8, 3, 8).mean((3, 5))
    after = done.reshape(2, 3, 2, 8, 3, 8).mean((3, 5))
    assert np.abs(before - after).max() < 0.05
