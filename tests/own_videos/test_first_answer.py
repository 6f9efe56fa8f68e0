"""Test the first answer: what frozen features of the model that comes along tell before any training."""

from dataclasses import replace

import numpy as np
import pytest

from lit_video.datamodules.drawing import encode
from lit_video.own_videos import first_answer as module
from lit_video.own_videos.finding import OwnVideo
from lit_video.own_videos.first_answer import answered_better, compared_in_words, first_answer

EACH = 8  # videos of each class


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """Folder with films of a square that moves right or left, which share all their frames."""
    folder = tmp_path_factory.mktemp("films")
    videos = []
    for number in range(EACH):
        rng = np.random.default_rng(number)
        frames = np.repeat(rng.integers(0, 80, (1, 48, 48, 3), np.uint8), 16, 0)
        for time in range(16):
            frames[time, 10 + 3 * number : 20 + 3 * number, 2 + 2 * time : 12 + 2 * time] = 230
        for label, played in (("right", frames), ("left", frames[::-1])):
            path = f"{label}{number}.mp4"
            encode(folder / path, np.ascontiguousarray(played), 8)
            videos.append(OwnVideo(path, label, f"fold{1 + number % 2}"))
    return folder, videos


def test_folds_are_tested_by_the_others(films):
    answer = first_answer(*films, None)
    assert answer.accuracy.value > 80, "the features tell right from left"
    assert answer.tested == 2 * EACH
    assert {fold: tested for fold, (_, tested) in answer.right.items()} == {"fold1": EACH, "fold2": EACH}
    assert sum(right for right, _ in answer.right.values()) == round(answer.accuracy.value * 2 * EACH / 100)
    assert f"of {2 * EACH} videos are right (cross-validated in 2 parts, 95 % interval" in str(answer)


def test_validation_videos_are_tested_where_there_are_any_and_no_test_video(films):
    folder, videos = films
    splits = [("train", "train", "val", "test")[number // 4] for number in range(len(videos))]
    divided = [replace(video, split=split) for video, split in zip(videos, splits, strict=True)]
    (folder / "no_film.mp4").write_text("no film")
    of_test = OwnVideo("no_film.mp4", "left", "test")

    answer = first_answer(folder, [*divided, of_test], None)
    assert answer.tested == splits.count("val")
    assert "4 videos are right (validation videos" in str(answer)


def test_an_answer_of_some_of_the_videos_says_so(films, monkeypatch):
    whole = first_answer(*films, None)
    assert "at random" not in str(whole)
    assert compared_in_words(whole.right, whole.right).endswith(f"first answer {whole.accuracy.value:.1f} %")

    monkeypatch.setattr(module, "MOST_VIDEOS", 12)
    answer = first_answer(*films, None)
    assert answer.tested == 12 and f", 12 of {2 * EACH} videos taken at random, 95 %" in str(answer)
    line = compared_in_words(whole.right, answer.right)
    assert line.endswith(f"first answer {answer.accuracy.value:.1f} % of a sample of 12 of these {2 * EACH} videos")


def test_videos_of_too_few_draws_have_no_interval(films):
    folder, videos = films
    answer = first_answer(folder, videos, [video.split for video in videos])
    assert "interval" not in str(answer)


def test_one_class_to_train_and_no_time_give_no_answer(films, monkeypatch):
    folder, videos = films
    one = [replace(video, split="train" if video.label == "left" else "val") for video in videos]
    assert first_answer(folder, one, None) is None
    monkeypatch.setattr(module, "LONGEST_READ", -1.0)
    assert first_answer(folder, videos, None) is None


@pytest.mark.parametrize(("trained", "is_better"), [(4, True), (5, False), (6, False)])
def test_validation_videos_choose_the_first_answer_only_if_it_is_right_more_often(trained, is_better):
    assert answered_better({"val": [trained, 10]}, {"val": [5, 10]}) == [is_better]


def test_no_fold_chooses_the_model_that_it_is_tested_by():
    trained = {"fold1": [9, 10], "fold2": [4, 10], "fold3": [4, 10]}
    answer = {"fold1": [1, 10], "fold2": [6, 10], "fold3": [6, 10]}
    assert answered_better(trained, answer) == [False, True, False, False]
