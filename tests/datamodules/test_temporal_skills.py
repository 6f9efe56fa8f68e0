"""Test the drawings of TemporalSkills; test_circle_of_time.py and test_reversed_pairs.py test what they cannot show."""

import numpy as np
import pytest
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

from lit_video.datamodules import Augmentation, Dense, TemporalSkills, WholeVideo, temporal_skills
from lit_video.datamodules.checks import refuse_choice
from lit_video.datamodules.films import FLASHES, find_skill
from lit_video.datamodules.temporal_skills import DrawnPair
from lit_video.engine.predictions import opposite_classes
from lit_video.runs.predictions import TaskPredictions
from lit_video.video.decoding import decode, frame_table
from lit_video.video.seeding import digest

SEEDS = range(40)
LENGTHS = (8, 16, 32)


def skills(root, **changes):
    settings = dict(pairs=(2, 1, 1), num_frames=8, image_size=16, batch_size=4, num_workers=0)
    return TemporalSkills(root=str(root), **(settings | changes))


def films(name, num_frames=8):
    """Return turns from their first step."""
    return [find_skill(name).film(np.random.default_rng(seed), num_frames, first=0) for seed in SEEDS]


def shown(film):
    """Return the numbers of the frames that show something, with their first figure."""
    return [(t, figures[0]) for t, figures in enumerate(film) if figures]


def gaps(film):
    return [np.hypot((a.x - b.x + 0.5) % 1 - 0.5, (a.y - b.y + 0.5) % 1 - 0.5) for a, b in film]


def speeds(film):
    steps = [(np.diff([getattr(figure, axis) for (figure,) in film]) + 0.5) % 1 - 0.5 for axis in "xy"]
    return np.hypot(*steps)


STEPS = {
    "drift": (lambda film: np.diff([figure.x for (figure,) in film]) % 1, 0.06, 0.11),
    "zoom": (lambda film: np.diff([figure.radius for (figure,) in film]), 1e-4, 0.1),
    "rotation": (lambda film: np.rad2deg(np.diff([figure.angle for (figure,) in film])), 10, 25),
    "meeting": (lambda film: -np.diff(gaps(film)), 1e-3, 0.2),
    "speed": (lambda film: np.diff(speeds(film)), 1e-4, 0.03),
}


@pytest.mark.parametrize("frames", LENGTHS)
@pytest.mark.parametrize("name", STEPS)
def test_forwards_a_shape_goes_right_grows_turns_clockwise_meets_another_or_speeds_up(name, frames):
    steps, least, most = STEPS[name]
    for film in films(name, frames):
        found = steps(film)
        assert least <= found.min() <= found.max() <= most
        if name in ("drift", "rotation"):
            assert found.min() == pytest.approx(found.max())
        if name == "zoom":
            assert film[-1][0].radius > 1.9 * film[0][0].radius
        if name == "meeting":
            assert 0.44 < gaps(film)[0] < 0.5 and gaps(film)[-1] == pytest.approx(film[-1][0].radius)


@pytest.mark.parametrize("apart", [1, 2, 3])
@pytest.mark.parametrize("frames", LENGTHS)
def test_events_are_bright_then_dark_in_one_place_at_their_distance(apart, frames):
    for film in films(f"order{apart}", frames):
        (first, bright), (second, dark) = shown(film)
        assert second - first == apart
        assert (bright.bright, dark.bright) == (True, False)
        assert (bright.x, bright.y, bright.radius) == (dark.x, dark.y, dark.radius)


def test_a_film_wraps_round_from_its_first_step():
    one = find_skill("order3")
    starts = [shown(one.film(np.random.default_rng(0), 8, first)) for first in range(8)]
    assert [[t for t, _ in each] for each in starts] == [[-first % 8, (3 - first) % 8] for first in range(1)] + [
        sorted([-first % 8, (3 - first) % 8]) for first in range(1, 8)
    ]
    assert [figure.bright for _, figure in starts[1]] == [False, True], "wrapped round, the bright event comes last"


@pytest.mark.parametrize(("frames", "gaps"), [(7, {1}), (8, {1}), (9, {1, 2}), (16, {1, 2})])
def test_a_shape_is_shown_for_three_steps_and_after_a_gap_shorter_than_any_rest_for_one(frames, gaps):
    found = set()
    for film in films("duration", frames):
        times = [t for t, _ in shown(film)]
        assert times[:3] == [0, 1, 2] and len(times) == 4
        found.add(times[3] - 3)
        assert frames - 4 - (times[3] - 3) > max(gaps)
    assert found == gaps


@pytest.mark.parametrize("frames", [15, 16, 32])
def test_a_point_flashes_once_twice_and_three_times(frames):
    for film in films("count", frames):
        times = [t for t, _ in shown(film)]
        bursts = np.split(times, np.flatnonzero(np.diff(times) > 2) + 1)
        assert len(times) == sum(FLASHES) and len(film) == frames
        assert [len(burst) for burst in bursts] == list(FLASHES) and times[0] == 0


def test_classes_are_skills_times_directions_and_known_before_any_video_is_written(tmp_path):
    data = skills(tmp_path, skills=("zoom", "order3"))
    assert data.class_names == ["zoom shrinking", "zoom growing", "order3 dark first", "order3 bright first"]
    assert data.opposites == {"zoom": (0, 1), "order3": (2, 3)}
    assert skills(tmp_path).num_classes == 16
    assert not list(tmp_path.iterdir())


def test_predictions_know_every_skill_by_the_name_that_the_data_give_it(tmp_path):
    """Verdicts read the skills' names from classes; a name of their own would leave the skill out of every verdict."""
    further = ("count", "speed", "occlusion", "order5", "order7")
    data = skills(tmp_path, skills=(*temporal_skills.SKILLS, *further), num_frames=16)
    target = np.arange(data.num_classes)
    opposite = opposite_classes(data.opposites)
    task = TaskPredictions.of_logits(np.eye(len(target)), target, data.class_names, opposite=opposite)
    assert task.opposites == data.opposites
    assert [*task.skill] == [name for name in data.opposites for _ in range(2)]


@pytest.mark.parametrize(
    ("changes", "ceiling"),
    [
        # one direction of each skill is right, but N skills of order look alike: one direction of one of them is right
        ({"skills": ("order1",)}, 50),
        ({"skills": ("order1", "order3")}, 25),
        ({"length": 16, "frames_per_step": 2}, 37.5),
        # clips show steps 1, 3, 4 and 6 of 0 to 7: both events of distances 1, 2 and 3 in 1, 2 and 3 cases of 8, one
        # event in 6, 4 and 2 cases, none in 1, 2 and 3; the best guess is right in 3, 6 and 3 of 8
        ({"length": 16, "frames_per_step": 2, "num_frames": 4}, 50 * (5 + 12 / 8) / 8),
        # clips of two frames show both events only at distance 1, and in 8 of 16 cases
        ({"length": 16, "num_frames": 2, "sampling": Dense(seconds=0.25), "test_clips": 8}, 50 * (5 + 8 / 16 + 1) / 8),
    ],
    ids=str,
)
def test_blind_models_reach_half_and_more_where_clips_leave_steps_out(changes, ceiling, tmp_path):
    assert skills(tmp_path, **changes).blind_ceiling == pytest.approx(ceiling, abs=0.01)


def test_files_hold_what_was_drawn_and_say_so(tmp_path):
    data = skills(tmp_path, pairs=(1, 1, 1), difficulty=0.25, test_difficulty=0.2)  # noise is hard to code
    data.prepare_data()
    pairs = data.drawn_pairs()
    for pair in pairs:
        drawn = pair.render(8, 32)
        for path, frames, way in zip(pair.paths, (drawn[::-1], drawn), ("backward", "forward"), strict=True):
            assert np.abs(decode(path, range(8)).astype(int) - frames).mean() < 7
            assert path.parent.name == f"{pair.skill.name} {getattr(pair.skill, way)}" and frame_table(path).count == 8
            assert pair.difficulty == (0.25 if "train" in path.parts else 0.2)
    assert len(data.records("test")) == 16
    assert len({pair.seed for pair in pairs}) == len(pairs) == 3 * 8, "no video is in two splits"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"skills": ("drift", "dance")}, "skills has 'dance', expected drift, zoom"),
        ({"skills": ("zoom", "zoom")}, "each once"),
        ({"skills": ("order4",)}, "length is 8, too short for order4, which takes 9 frames"),
        ({"skills": ("count",)}, "length is 8, too short for count, which takes 15 frames"),
        ({"drawing": -1}, "drawing is -1"),
        ({"length": 12}, "length is 12, expected 8"),
        ({"length": 16, "frames_per_step": 3}, "frames_per_step is 3, expected a divisor of the length 16"),
        ({"sampling": Dense(seconds=1.5)}, "sampling.seconds is 1.5, videos last 1.0"),
        ({"sampling": WholeVideo(1.0)}, "expected Dense or Segments"),
        ({"augmentation": Augmentation(flip=0.5)}, "flip"),
    ],
    ids=str,
)
def test_settings_that_do_not_fit_are_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        skills(tmp_path, **changes)


def test_what_the_pictures_depend_on_is_in_the_folders_name(tmp_path):
    step = {"length": 16, "frames_per_step": 2}
    changes = [{}, {"length": 16}, step, {"side": 48}, {"difficulty": 0.5}, {"skills": ("zoom",)}, {"pairs": (1, 1, 1)}]
    changes.append({"drawing": 1})
    assert len({skills(tmp_path, **change).root for change in changes}) == len(changes)
    assert skills(tmp_path, num_frames=16).root == skills(tmp_path, length=16).root
    assert skills(tmp_path, image_size=32).root == skills(tmp_path).root, "a setting of the clips, not of the videos"


def test_another_drawing_has_other_pictures_and_the_same_classes(tmp_path):
    one, other = (skills(tmp_path, drawing=drawing) for drawing in (0, 1))
    assert one.class_names == other.class_names
    assert not {pair.seed for pair in one.drawn_pairs()} & {pair.seed for pair in other.drawn_pairs()}


def test_what_a_seed_draws_is_what_this_version_has_always_drawn():
    """Raise VERSION if this fails: users' folders hold the old pictures under the same name."""
    assert temporal_skills.VERSION == 4
    seed = digest(4, 0, "train", "drift", 0)
    drawn = [(name, 8) for name in temporal_skills.SKILLS] + [(name, 16) for name in ("count", "speed", "occlusion")]
    means = [float(DrawnPair(find_skill(name), seed, 1, 0.65, ()).render(frames, 32).mean()) for name, frames in drawn]
    expected = [162.33, 128.43, 158.09, 113.55, 113.55, 113.55, 161.44, 112.61, 134.72, 161.56, 164.61]
    assert means == pytest.approx(expected, abs=0.02)


def test_a_choice_by_validation_needs_no_video_that_is_not_drawn_yet(tmp_path):
    data = skills(tmp_path / "never written")
    refuse_choice(data, [EarlyStopping("val/loss"), ModelCheckpoint(monitor="val/clip_top1", mode="max")])
    assert not list(tmp_path.rglob("*.mp4"))
    data.prepare_data()
    videos = [set(data.records(split).paths) for split in ("train", "val", "test")]
    assert not (videos[0] & videos[1] or videos[0] & videos[2] or videos[1] & videos[2])
