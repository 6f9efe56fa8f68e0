"""What MovingShapes draws; that its classes differ in time only is in test_reversed_pairs.py."""

import math
from fractions import Fraction

import av
import numpy as np
import pytest
import torch

from lit_video.datamodules import MovingShapes, moving_shapes
from lit_video.datamodules.drawing import SHAPES
from lit_video.datamodules.moving_shapes_rendering import HEIGHT, MOTIONS, WIDTH, draw_scene, render
from lit_video.video.decoding import decode
from lit_video.video.released_sampling import ReleasedSegments
from lit_video.video.sampling import Dense, DenseStride, WholeVideo
from lit_video.video.seeding import digest
from tests.datamodules.conftest import whole

PAIRS = (4, 2, 2)
SECOND = Dense(seconds=1.0)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    data = shapes(tmp_path_factory.mktemp("shapes"))
    data.prepare_data()
    return data


def shapes(root, pairs=PAIRS, **changes):
    settings = dict(frames=8, image_size=16, batch_size=4, num_workers=0, sampling=SECOND)
    return MovingShapes(root=str(root), pairs=pairs, **(settings | changes))


def test_encoding_keeps_the_pictures(data):
    """What is decoded is what was drawn, up to colour subsampling and a fine quantiser."""
    job, (left, right) = data._jobs()[0]
    drawn = data.draw(*job).frames.astype(int)
    assert np.abs(whole(right) - drawn).mean() < 6
    assert np.abs(whole(left)[::-1] - drawn).mean() < 6


def test_clips_longer_than_a_video_are_refused(tmp_path):
    """Where a video is too short its last frame is repeated, which is its partner's first."""
    with pytest.raises(ValueError, match=r"^sampling.seconds is 2.0, the shortest video lasts 1.167"):
        shapes(tmp_path, sampling=Dense(seconds=2.0))


@pytest.mark.parametrize(
    "sampling", [DenseStride(2), DenseStride(2, fps=12), ReleasedSegments(), WholeVideo(1.0)], ids=str
)
def test_samplings_that_cut_no_symmetric_clips_are_refused(tmp_path, sampling):
    with pytest.raises(ValueError, match=r"^sampling is .*, expected Dense or Segments"):
        shapes(tmp_path, sampling=sampling)


def place(frames):
    """Angle of the shape around the torus in every frame, from its column brightness: a function of single frames."""
    columns = frames.mean((1, 3))
    wave = np.exp(2j * np.pi * np.arange(WIDTH) / WIDTH)
    return np.angle((columns - columns.mean(1, keepdims=True)) @ wave)


def test_a_sum_over_frames_that_knows_their_times_shows_the_motion():
    """The claim is about models without temporal positions, and needs that restriction.

    The sum of cos(place - speed * time) over frames is a sum of functions of single frames and their times; it is
    large only for shapes that move right.
    """
    correct = []
    for scene in scenes(100, difficulty=0):
        frames = np.linspace(0, scene.fps - 1, 8).round().astype(int)
        turn = 2 * np.pi * 30 / WIDTH * frames / scene.fps
        video = render(scene)[: scene.fps]
        for direction, clip in ((1, video), (-1, video[::-1])):
            score = np.cos(place(clip[frames].astype(float)) - turn).sum()
            correct.append((score > 2) == (direction == 1))
    assert np.mean(correct) > 0.6


def scenes(count, shape="disk", difficulty=0.25):
    return [draw_scene(digest("test", i), shape, difficulty) for i in range(count)]


@pytest.mark.parametrize(("axis", "size"), [("x", WIDTH), ("y", HEIGHT)])
def test_starts_are_uniform_over_the_torus(axis, size):
    starts = np.array([getattr(scene, axis) for scene in scenes(3000)])
    counts = np.histogram(starts, bins=12, range=(0, size))[0]
    assert counts.sum() == 3000
    chi_square = ((counts - 250) ** 2 / 250).sum()
    assert chi_square < 31.3  # 99.9 % of a chi-square with 11 degrees of freedom


def test_nuisance_is_drawn_independently():
    drawn = scenes(3000)
    values = np.array([[s.x, s.y, s.speed, s.slope, s.radius, s.noise, s.fps, s.background[0]] for s in drawn])
    correlations = np.corrcoef(values.T) - np.eye(values.shape[1])
    assert np.abs(correlations).max() < 0.08  # standard deviation 0.018


def test_shapes_move_as_their_label_says(data):
    for split in ("train", "val", "test"):
        for record in data.records(split):
            steps = np.diff(place(whole(record.path).astype(float)))
            drift = np.median((steps + np.pi) % (2 * np.pi) - np.pi)
            assert (drift > 0) == (MOTIONS[record.label % 2] == "right"), record.path


def test_the_video_is_periodic_in_both_directions():
    """A shape that leaves on one side comes in on the other, so no border shows where it came from."""
    scene = draw_scene(1, "cross", 0.0)
    quiet = {"noise": 0.0, "texture": 0.0, "gradient": (0.0, 0.0), "slope": 0.0}
    base = type(scene)(**(vars(scene) | quiet))
    moved = type(scene)(**(vars(base) | {"x": base.x + 17, "y": base.y + 11}))
    difference = render(moved).astype(int) - np.roll(render(base), (11, 17), axis=(1, 2))
    assert np.abs(difference).max() <= 1


def test_a_file_says_what_it_shows(data):
    (shape, seed, _), (left, right) = data._jobs()[5]
    for path in (left, right):
        with av.open(str(path)) as container:
            assert str(seed) in container.metadata["comment"]
            assert shape in container.metadata["comment"]


def test_what_a_seed_draws_is_what_this_version_has_always_drawn():
    """Where this fails, VERSION has to rise: users' folders hold the old pictures under the same name."""
    assert moving_shapes.VERSION == 1
    assert digest(1, "train", "disk", 0) == 3950070712527391190
    scene = draw_scene(0, "disk", 0.25)
    assert (scene.fps, scene.frames) == (30, 49)
    assert [scene.x, scene.y, scene.speed, scene.slope, scene.radius] == pytest.approx(
        [35.01583, 19.57050, 38.70145, 0.25268284, 6.255477], rel=1e-5
    )
    assert [*scene.foreground, *scene.background] == pytest.approx(
        [0.9199684, 0.9536242, 0.7865752, 0.1214040, 0.01843809, 0.007437436], rel=1e-5
    )
    assert render(scene).mean((0, 1, 2)) == pytest.approx([45.31099, 26.85910, 22.39912], abs=0.01)


def test_classes_are_shapes_times_motions(data):
    assert data.class_names == [
        "disk moving left",
        "disk moving right",
        "ring moving left",
        "ring moving right",
        "bars moving left",
        "bars moving right",
        "cross moving left",
        "cross moving right",
    ]
    assert data.num_classes == 8


def test_classes_are_known_before_any_video_is_written(tmp_path):
    assert shapes(tmp_path).num_classes == 8
    assert not list(tmp_path.iterdir())


def test_splits_are_balanced_and_share_no_video(data):
    pictures = set()
    for split, pairs in zip(("train", "val", "test"), PAIRS, strict=True):
        records = data.records(split)
        assert np.bincount([r.label for r in records]).tolist() == [pairs] * 8
        assert all(r.path.parent.name == data.class_names[r.label] for r in records)
        pictures |= {decode(r.path, [0]).tobytes() for r in records}
    assert len(pictures) == 8 * sum(PAIRS)


def test_durations_and_rates_vary():
    drawn = scenes(200)
    assert {s.fps for s in drawn} == {12, 15, 20, 25, 30}
    seconds = [Fraction(s.frames, s.fps) for s in drawn]
    assert 1.1 < min(seconds) < 1.3
    assert 1.9 < max(seconds) < 2.1


@pytest.mark.parametrize("shape", SHAPES)
def test_the_shape_stands_out_from_the_background_at_every_difficulty(shape):
    for difficulty in (0.0, 0.5, 1.0):
        for scene in scenes(50, shape, difficulty):
            assert min(f - b for f, b in zip(scene.foreground, scene.background, strict=True)) >= 0.29
            assert 0 < scene.radius < min(HEIGHT, WIDTH) / 4


def test_difficulty_changes_the_pictures_and_the_folder(tmp_path):
    easy, hard = (shapes(tmp_path, difficulty=difficulty) for difficulty in (0.0, 1.0))
    assert easy.root != hard.root
    videos = [data.draw("disk", 3, data.difficulty).frames.astype(float) for data in (easy, hard)]
    assert videos[0].shape == videos[1].shape
    # what stays of a background pixel from frame to frame is noise
    noise = [np.median(np.abs(np.diff(video, axis=0))) for video in videos]
    assert noise[1] > noise[0]


def test_pictures_are_a_function_of_the_seed():
    one, again, other = (render(draw_scene(seed, "ring", 0.25)) for seed in (5, 5, 6))
    assert np.array_equal(one, again)
    assert one.shape != other.shape or not np.array_equal(one, other)


@pytest.mark.parametrize("difficulty", [-0.1, 1.1, math.nan])
def test_difficulty_outside_0_to_1_is_refused(tmp_path, difficulty):
    with pytest.raises(ValueError, match=f"difficulty is {difficulty}"):
        shapes(tmp_path, difficulty=difficulty)


def test_training_batches_hold_both_motions(data):
    labels = torch.cat([raw["label"] for raw in data.train_dataloader()])
    assert torch.bincount(labels).tolist() == [PAIRS[0]] * 8
