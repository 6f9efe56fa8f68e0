"""Test the predictions in a run's folder against torchmetrics and the run's own metrics."""

import numpy as np
import pytest
import torch
from torchmetrics.classification import MulticlassCalibrationError

from lit_video.__main__ import main
from lit_video.engine.predictions import class_rows
from lit_video.errors import UserError
from lit_video.runs.folder import read_curves, read_finished
from lit_video.runs.predictions import (
    FILE,
    ONE_FRAME,
    Draws,
    Predictions,
    TaskPredictions,
    file_of_further,
    packed_predictions,
    read_further,
    read_predictions,
    save_logits,
)
from lit_video.tables.statistics import calibration_error
from tests.fake_runs import fake_result, save

LOGITS = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
SOME = (LOGITS, np.array([0, 0, 1, 1, 1, 2]), ["a", "b", "c", "d"])  # no video of class d
VERBS = (LOGITS[:, :2], SOME[1] % 2, ["open", "close, slowly"])


@pytest.fixture
def some():
    return TaskPredictions.of_logits(*SOME)


def test_predictions_are_those_of_the_logits_in_a_runs_folder_and_packed(some, tmp_path):
    video = np.array([3, 0, 1, 2, 5, 4])  # processes end in any order
    save_logits(tmp_path, video, {"verb": VERBS, "noun": SOME})
    back = read_predictions(tmp_path, fake_result(test_videos=6))
    save(tmp_path, back)
    packed = read_predictions(tmp_path, fake_result(test_videos=6))
    order, probabilities = np.argsort(video), torch.tensor(LOGITS, dtype=torch.float64).softmax(1).numpy()
    for one, within in ((back, 1e-12), (packed, 1e-6)):
        noun = one.tasks["noun"]
        assert list(one.tasks) == ["verb", "noun"] and one.tasks["verb"].classes == VERBS[2]
        assert one.video.tolist() == list(range(6))
        np.testing.assert_array_equal(noun.target, SOME[1][order])
        np.testing.assert_array_equal(noun.predicted, LOGITS.argmax(1)[order])
        np.testing.assert_array_equal(noun.rank, [np.sum(LOGITS[i] > LOGITS[i, SOME[1][i]]) for i in order])
        np.testing.assert_allclose(noun.confidence, probabilities.max(1)[order], rtol=within)
        np.testing.assert_array_equal(one.hits(), one.tasks["verb"].hits() & some.hits()[order])


def test_predictions_of_another_order_are_those_of_the_result(tmp_path):
    """Read the file only if the result has this test, and only with the result's accuracy."""
    (tmp_path / file_of_further("reversed")).write_bytes(
        packed_predictions(save_logits(tmp_path, np.arange(6), {"": SOME}))
    )
    assert read_further(tmp_path, fake_result(metrics={"test/video_top1": 50.0}), "reversed") is None
    right = 100 * float(np.mean(LOGITS.argmax(1) == SOME[1]))
    result = fake_result(metrics={"reversed/video_top1": right}, test_videos=7)
    assert read_further(tmp_path, result, "reversed").hits().mean() == pytest.approx(right / 100)
    with pytest.raises(UserError, match="predictions_reversed"):
        read_further(tmp_path, fake_result(metrics={"reversed/video_top1": right + 1}), "reversed")


def test_a_file_that_unpacks_to_gigabytes_is_damaged(tmp_path):
    np.savez_compressed(tmp_path / "predictions.npz", video=np.zeros(10**7))
    with pytest.raises(UserError, match=r"predictions.npz is damaged \(.*unpacked size is .*, expected at most"):
        read_predictions(tmp_path)


def test_confusion_and_classes_count_every_video(some):
    confusion = np.zeros((4, 4), int)
    for logits, target in zip(*SOME[:2], strict=True):
        confusion[target, int(np.argmax(logits))] += 1
    np.testing.assert_array_equal(some.confusion, confusion)
    rows = class_rows("", some)
    assert [row[1:3] for row in rows] == [("a", 2), ("b", 3), ("c", 1)]
    assert [float(row[3]) for row in rows] == [round(100 * confusion[i, i] / n, 2) for i, n in enumerate((2, 3, 1))]
    assert all(row[4] == "100.00" for row in rows), "four classes: all are among the first five"


def test_of_equal_logits_the_first_class_comes_first():
    task = TaskPredictions.of_logits(np.zeros((3, 3), np.float32), np.array([0, 1, 2]), ["a", "b", "c"])
    assert task.hits().tolist() == [True, False, False]
    assert task.hits(2).tolist() == [True, True, False]


@pytest.mark.parametrize("bins", [5, 15])
def test_calibration_is_that_of_torchmetrics(bins):
    rng = np.random.default_rng(1)
    logits, target = 3 * rng.normal(size=(400, 6)).astype(np.float32), rng.integers(0, 6, 400)
    task = TaskPredictions.of_logits(logits, target, list("abcdef"))
    metric = MulticlassCalibrationError(6, n_bins=bins)
    expected = 100 * float(metric(torch.tensor(logits).softmax(1), torch.tensor(target)))
    assert calibration_error(task.confidence, task.hits(), bins) == pytest.approx(expected, abs=1e-3)


@pytest.mark.pictures
def test_a_run_keeps_the_predictions_of_its_test(table, tiny, tmp_path):
    flags = ["--data.test_orders=[static]", "--trainer.logger=false"]
    assert main(["fit", "--config", str(table[0]), "--row", "second", "--runs", str(tmp_path), *tiny, *flags]) == 0
    run = tmp_path / "two/default/second/seed0"
    metrics = read_finished(run).result.metrics
    predictions = read_predictions(run)
    assert predictions.video.tolist() == list(range(8))
    assert (predictions.draws.kind, predictions.draws.count) == ("pair", 4)
    assert 100 * predictions.hits().mean() == metrics["test/video_top1"]
    static = read_further(run, read_finished(run).result, "static")
    assert 100 * static.hits().mean() == pytest.approx(metrics["static/video_top1"])
    assert read_further(run, read_finished(run).result, "reversed") is None
    head = read_further(run, read_finished(run).result, ONE_FRAME)
    assert head.video.tolist() == list(range(8))
    assert 100 * head.hits().mean() == pytest.approx(metrics["one_frame/video_top1"])
    assert 100 * predictions.tasks[""].hits(5).mean() == metrics["test/video_top5"]
    error = calibration_error(predictions.tasks[""].confidence, predictions.hits())
    assert error == pytest.approx(metrics["test/calibration_error"])
    assert predictions.tasks[""].classes[0] == "drift left"
    points = read_curves(run)
    assert [point["epoch"] for point in points] == [1, 2]
    assert points[-1]["step"] == read_finished(run).result.steps
    assert all({"train/loss", "val/clip_top1", "val/loss"} <= point.keys() for point in points)
    assert (run / "confusion.png").stat().st_size > 5000
    assert (run / "classes.csv").read_text().startswith("task,class,videos,top1,top5\n,drift left,1,")


# two skills, each with two directions: classes 0 and 1, 2 and 3
OPPOSITE = np.array([1, 0, 3, 2])


def directions(logits, target):
    return TaskPredictions.of_logits(np.array(logits, np.float32), np.array(target), list("abcd"), opposite=OPPOSITE)


def test_direction_is_told_apart_from_recognition():
    task = directions([[2, 1, 9, 0], [1, 2, 0, 0], [3, 2, 0, 0], [0, 0, 1, 2]], [0, 0, 0, 3])
    assert task.recognised.tolist() == [False, True, True, True], "the first video is taken for the other skill"
    assert task.direction.tolist() == [True, False, True, True], "and has the right direction of its own"
    assert (task.hits() == (task.recognised & task.direction)).all()


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["a", "b", "a", "b"], [True, False]), (["a", "a", "b", "b"], None), (["a", "a", "a", "b"], None)],
    ids=["a film and its reverse", "two films of one class", "three videos of a person"],
)
def test_both_directions_of_a_film_may_be_right(names, expected):
    logits = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]], np.float32)
    of_task = {"": (logits, np.array([0, 0, 1, 1]), list("abcd"))}
    draws = Draws.of_names("pair", names)
    both = Predictions.of_logits(np.arange(4), of_task, opposite=OPPOSITE, draws=draws).both_directions
    assert (both if both is None else both.tolist()) == expected
    assert Predictions.of_logits(np.arange(4), of_task, opposite=OPPOSITE).both_directions is None


def test_equal_logits_give_one_video_of_a_pair():
    assert directions([[1, 1, 0, 0]] * 2, [0, 1]).direction.tolist() == [True, False]


def test_packs_keep_directions(tmp_path):
    logits, target = np.array([[2, 1, 9, 0], [1, 2, 0, 0]], np.float32), np.array([0, 0])
    saved = save_logits(tmp_path, np.arange(2), {"": (logits, target, list("abcd"))}, opposite=OPPOSITE)
    assert read_predictions(tmp_path).hits("test/direction").tolist() == [True, False]
    (tmp_path / FILE).write_bytes(packed_predictions(saved))
    packed = read_predictions(tmp_path)
    assert packed.has_directions and packed.hits("test/direction").tolist() == [True, False]
    assert packed.tasks[""].recognised.tolist() == [False, True]


def test_a_skill_is_named_by_the_fewest_words_that_its_classes_alone_begin_with():
    def opposites(*classes):
        return TaskPredictions.of_logits(np.eye(4), np.arange(4), classes, opposite=OPPOSITE).opposites

    names = ("duration long last", "duration long first", "drift up left", "drift up right")
    assert opposites(*names) == {"duration": (0, 1), "drift": (2, 3)}
    assert opposites("drift up left", "drift up right", "drift on left", "drift on right") == {
        "drift up": (0, 1),
        "drift on": (2, 3),
    }
    with pytest.raises(ValueError, match=r"classes 'drift left' and 'drift right' have no name of a skill"):
        opposites("drift left", "drift right", "drift up", "zoom in")


def test_opposites_that_are_no_pairs_are_refused(tmp_path):
    logits, target = np.zeros((2, 4), np.float32), np.array([0, 0])
    save_logits(tmp_path, np.arange(2), {"": (logits, target, list("abcd"))}, opposite=np.array([1, 2, 3, 0]))
    with pytest.raises(UserError, match="opposite"):
        read_predictions(tmp_path)


def test_draws_are_read_back_from_a_folder_and_a_pack(tmp_path):
    video, draws = np.array([2, 0, 1, 3, 5, 4]), Draws("person", np.array([1, 0, 0, 1, 2, 2]))
    save_logits(tmp_path, video, {"": SOME}, draws=draws)
    back = read_predictions(tmp_path)
    save(tmp_path, back)
    for one in (back, read_predictions(tmp_path)):
        assert one.draws == Draws("person", np.array([0, 0, 1, 1, 2, 2])), "in the order of the videos"


def test_draws_that_do_not_fit_the_videos_are_damage(tmp_path):
    save_logits(tmp_path, np.arange(6), {"": SOME}, draws=Draws("person", np.arange(5)))
    with pytest.raises(UserError, match="draw: not a number for each of 6 videos"):
        read_predictions(tmp_path)
