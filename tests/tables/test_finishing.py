"""Test which trainings have finished, on made predictions of two skills."""

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from lit_video.runs.folder import write_curves
from lit_video.runs.predictions import Draws, Predictions
from lit_video.tables.finishing import finish, is_half, steps_of_half, steps_to_begin
from tests.fake_runs import fake_run

OPPOSITES = {"drift": (0, 1), "zoom": (2, 3)}
CLASSES = ["drift left", "drift right", "zoom in", "zoom out"]
PAIRS = 100


def predictions(**right):
    """Return predictions of a film and its reverse for each pair; of ``right`` pairs of a skill both are right."""
    logits, target, draws = [], [], []
    for skill, classes in OPPOSITES.items():
        for pair in range(PAIRS):
            # a wrong pair has the same direction for the film and for its reverse: one of the two is right
            said = classes if pair < right[skill] else (classes[0], classes[0])
            for label, answer in zip(classes, said, strict=True):
                logits.append([float(number == answer) for number in range(4)])
                target.append(label)
                draws.append(f"{skill}/{pair}")
    return Predictions.of_logits(
        np.arange(len(target)),
        {"": (np.array(logits), np.array(target), CLASSES)},
        opposite=np.array([1, 0, 3, 2]),
        draws=Draws.of_names("pair", draws),
    )


ALL = predictions(drift=100, zoom=100)


def test_a_skill_at_chance_has_not_begun_whatever_was_memorised():
    """Give half of zoom's directions, as a row that sees no order, and all training films."""
    end = finish(ALL, predictions(drift=90, zoom=0), OPPOSITES)
    assert end.not_begun == ["zoom"] and not end.unfinished
    assert {skill: direction.value for skill, direction in end.direction.items()} == {"drift": 95, "zoom": 50}


def test_a_skill_that_the_predictions_do_not_know_is_refused():
    with pytest.raises(ValueError, match="duration: no such skill among drift, zoom"):
        finish(ALL, ALL, [*OPPOSITES, "duration"])


def test_training_films_that_are_right_finish_a_skill():
    end = finish(ALL, predictions(drift=60, zoom=60), OPPOSITES)
    assert not end.not_begun and not end.unfinished and end.gain is None
    trained = predictions(drift=100, zoom=70)
    assert finish(trained, ALL, OPPOSITES).trained == {"drift": 100, "zoom": 85}
    assert finish(trained, ALL, OPPOSITES).unfinished == ["zoom"]


@pytest.mark.parametrize(
    ("half", "finished"), [(60, True), (59, True), (54, False), (40, False)], ids=["equal", "0.5", "3", "10 points"]
)
def test_a_row_whose_second_half_adds_little_has_finished(half, finished):
    trained = predictions(drift=60, zoom=60)
    full = predictions(drift=60, zoom=60)
    end = finish(trained, full, OPPOSITES, half=predictions(drift=half, zoom=half))
    assert end.gain.value == pytest.approx((60 - half) / 2)
    assert not end.not_begun and (not end.unfinished) is finished


def test_a_small_gain_that_few_films_leave_uncertain_has_not_finished():
    """Gain 2.5 points with an upper bound above five."""
    trained = predictions(drift=60, zoom=60)
    end = finish(trained, predictions(drift=60, zoom=0), OPPOSITES, half=predictions(drift=55, zoom=0))
    assert end.gain.value == pytest.approx(2.5) and end.gain.high > 5
    assert end.unfinished == ["drift"]


def test_the_gain_is_that_of_skills_that_have_begun():
    end = finish(ALL, predictions(drift=80, zoom=0), OPPOSITES, half=predictions(drift=80, zoom=60))
    assert end.gain.value == 0


def test_a_skill_that_the_row_cannot_see_is_not_asked():
    seen = {"drift": OPPOSITES["drift"]}
    end = finish(ALL, predictions(drift=100, zoom=0), seen)
    assert not end.not_begun and not end.unfinished


def test_predictions_without_directions_are_refused():
    plain = Predictions.of_logits(np.arange(2), {"": (np.eye(2), np.arange(2), ["a", "b"])})
    with pytest.raises(ValueError, match="no opposites"):
        finish(plain, plain, OPPOSITES)


@pytest.mark.parametrize(
    ("lesson", "steps", "half"),
    [(None, 2000, 1000), ({"steps": 0}, 4000, 2000), ({"steps": 500}, 2000, 1250), ({"steps": 1500}, 4000, 2750)],
)
def test_the_half_of_a_training_has_its_whole_lesson_and_half_of_the_steps_after_it(lesson, steps, half):
    settings = {"data": {"init_args": {"lesson": lesson}}}
    run = fake_run(settings, steps=steps)
    assert steps_of_half(run) == half
    assert is_half(fake_run(settings, steps=half), run)
    assert not is_half(fake_run(settings, steps=half + 1), run)
    assert not is_half(fake_run(settings, steps=half, seed=1), run)


def curve(folder, **by_skill):
    """Write a curve with directions on 64 films and their reverses, validated every 500 steps; return its run."""
    points = []
    for number in range(len(by_skill["drift"])):
        directions = {f"val/direction/{skill}": values[number] for skill, values in by_skill.items()}
        points += [{"step": 500 * (number + 1), "val/loss": 1.0} | directions, {"step": 500 * (number + 1) + 12}]
    write_curves(folder, points)
    return fake_run({"data": {"init_args": {"pairs": [1024, 64, 512]}}}, folder=folder)


def test_a_skill_has_begun_at_the_step_from_which_it_stays_above_chance(tmp_path):
    run = curve(tmp_path, drift=[70, 80, 90], zoom=[50, 54, 75], meeting=[70, 50, 80], duration=[50, 80, 51])
    assert steps_to_begin(run) == {"drift": 500, "zoom": 1500, "meeting": 1500, "duration": None}


def test_a_skill_that_only_the_test_finds_above_chance_has_begun_with_the_last_step(tmp_path):
    run = curve(tmp_path, drift=[70, 80], meeting=[70, 54], zoom=[50, 54])
    metrics = {"test/direction/drift": 90.0, "test/direction/meeting": 84.0, "test/direction/zoom": 51.0}
    run = replace(run, result=structs.replace(run.result, metrics=metrics, steps=1200))
    assert steps_to_begin(run) == {"drift": 500, "meeting": 1200, "zoom": None}


def test_the_speed_of_learning_is_unknown_without_a_curve_by_skill(tmp_path):
    (tmp_path / "other").mkdir()
    write_curves(tmp_path / "other", [{"step": 500, "val/loss": 1.0}])
    assert steps_to_begin(fake_run({"data": {"init_args": {"pairs": [4, 4, 4]}}}, folder=tmp_path / "other")) == {}
    run = curve(tmp_path, drift=[90])
    assert steps_to_begin(fake_run({}, folder=run.folder)) == {}
