"""Test that the first answer becomes the model where the minutes are over before a training is better."""

import csv
import re

import numpy as np
import pytest
import yaml

import lit_video
from lit_video.__main__ import main
from lit_video.api import finetune
from lit_video.datamodules.drawing import encode
from lit_video.engine.step_times import Pace
from lit_video.own_videos import plan
from lit_video.own_videos.first_answer import FirstAnswer
from lit_video.runs.chosen_checkpoint import find_checkpoint
from lit_video.runs.folder import read_finished
from lit_video.tables.statistics import accuracy_interval
from lit_video.utils.yaml_files import read_yaml

SPLITS = ["train"] * 4 + ["val"] * 2 + ["test"] * 2  # of the films of a direction


@pytest.fixture
def films(tmp_path, monkeypatch):
    """Table of films of a square that moves right or left, which share all their frames; the working directory."""
    monkeypatch.chdir(tmp_path)
    lines = [["path", "label", "split"]]
    for number, split in enumerate(SPLITS):
        rng = np.random.default_rng(number)
        frames = np.repeat(rng.integers(0, 80, (1, 48, 48, 3), np.uint8), 16, 0)
        for time in range(16):
            frames[time, 10 + 3 * number : 20 + 3 * number, 2 + 2 * time : 12 + 2 * time] = 230
        for label, played in (("right", frames), ("left", frames[::-1])):
            encode(tmp_path / f"{label}{number}.mp4", np.ascontiguousarray(played), 8)
            lines.append([f"{label}{number}.mp4", label, split])
    with (tmp_path / "films.csv").open("w", newline="") as table:
        csv.writer(table).writerows(lines)
    return tmp_path


def pace_of(monkeypatch, step):
    """Let the plan measure that a step takes some seconds."""
    pace = Pace(start=0.1, step=step, first_read=0.001, view=0.001, other_view=0.001, stage=0.01)
    monkeypatch.setattr("lit_video.training.rehearsal.rehearse", lambda *settings, **options: pace)


def test_too_few_minutes_for_a_training_give_the_first_answer_as_a_run(films, monkeypatch, capsys):
    pace_of(monkeypatch, step=10.0)
    assert main(["finetune", "films.csv", "--minutes", "0.1", "--weights", "drawn"]) == 0
    said = capsys.readouterr().out
    assert "in 0.1 minutes no training fits: the model is the first answer" in said

    run = films / "own/films/runs/films/own/answered/seed0"
    result = read_finished(run).result
    (first,) = re.findall(r"First answer, .*?([\d.]+) % of 4 videos are right \(validation videos", said)
    with (run / "curves.csv").open(newline="") as lines:
        *_, last = csv.DictReader(lines)
    assert float(last["val/clip_top1"]) == float(first), "the run's validation is the first answer's"
    assert result.test_videos == 4 and result.metrics["test/video_top1"] > 50

    predicted = lit_video.predict("own/films", ["right7.mp4", "left7.mp4"]).ranked
    assert [video.ranked["class"][0].name for video in predicted] == ["right", "left"]


@pytest.mark.slow
@pytest.mark.parametrize("right", [4, 0], ids=["the first answer", "the training"])
def test_validation_videos_choose_between_the_training_and_its_first_answer(right, films, monkeypatch, capsys):
    answer = FirstAnswer(accuracy_interval(np.ones(4, bool)), 4, "validation videos", {"val": [right, 4]})
    monkeypatch.setattr(plan, "first_answer", lambda *videos: answer)
    pace_of(monkeypatch, step=0.06)  # so that ten epochs fit
    if right:  # a training that learns nothing
        monkeypatch.setattr("lit_video.own_videos.choices.MUON", {"optimizer": "sgd", "lr": 1e-9})

    asked = ["finetune", "films.csv", "--minutes", "0.05", "--weights", "drawn"]
    assert main(asked) == 0
    said = capsys.readouterr().out
    kept = "first_answer/runs/films_first_answer/own/answered/seed0" if right else "runs/films/own/finetuned/seed0"
    assert f"first answer {25 * right}.0 %: kept the {'first answer' if right else 'training'}" in said
    run = films / "own/films" / kept
    assert find_checkpoint("own/films").is_relative_to(run.relative_to(films))
    assert read_yaml(films / "own/films/films.yaml")["table"]["plan"]["first_answer"] == {"val": [right, 4]}

    assert main(asked) == 0, "the second call goes on, and keeps the same"
    assert find_checkpoint("own/films").is_relative_to(run.relative_to(films))


def test_each_fold_is_tested_by_what_the_other_folds_chose(tmp_path, monkeypatch, caplog):
    names = ["fold1", "fold2", "fold3"]
    rows = {"all": {"label": "XViT, fine-tuned, all videos", "set": {"data.train_values": names}}}
    for name in names:
        videos = {"data.train_values": [other for other in names if other != name], "data.test_values": [name]}
        rows[name] = {"label": f"XViT, fine-tuned, tested on {name}", "set": videos | {"model.window": 3}}
    first_answer = {"fold1": [1, 10], "fold2": [6, 10], "fold3": [6, 10]}
    table = {"title": "Videos", "source": "/videos", "scale": "own", "metric": "test/video_top1", "rows": rows}
    data = {"root": "/videos", "train": "videos.csv", "batch_size": 8, "num_frames": 4}
    content = {
        "trainer": {"devices": 1, "max_epochs": 50, "callbacks": []},
        "data": {"class_path": "VideoCSV", "init_args": data},
        "model": {"class_path": "ViViT", "init_args": {"variant": 2}},
        "table": table | {"plan": {"first_answer": first_answer}},
    }
    file = tmp_path / "videos.yaml"
    file.write_text(yaml.safe_dump(content))
    made = []
    monkeypatch.setattr(finetune, "fit_experiment", lambda plan, *given, **more: made.append(plan.path))
    right = {"fold1": [9, 10], "fold2": [4, 10], "fold3": [4, 10]}
    monkeypatch.setattr("lit_video.training.folds.right_videos", lambda runs: right)

    with caplog.at_level("INFO", "lit_video"):
        runs, kept = finetune._with_first_answer(file, 0, [])
    trained, answered = tmp_path / "runs/videos/own", tmp_path / "first_answer/runs/videos_first_answer/own"
    assert runs == [trained / "all/seed0", answered / "fold1/seed0", trained / "fold2/seed0", trained / "fold3/seed0"]
    assert kept == file and (tmp_path / "kept.txt").read_text() == "runs/videos/own/all/seed0"
    assert "training 56.7 %, first answer 43.3 %: kept the training" in caplog.text
    assert "fold1 is tested by the first answer" in caplog.text

    answer = read_yaml(made[0])
    assert answer["data"]["init_args"] | data != data and answer["data"]["init_args"]["train"] == "videos.csv"
    assert answer["model"]["init_args"]["optimization"] == {"optimizer": "logistic"}
    assert "window" not in str(answer["table"]), "rows change which videos train and are tested, nothing else"
    assert answer["table"]["rows"]["fold2"]["set"]["data.test_values"] == ["fold2"]


def test_a_plan_without_a_first_answer_keeps_its_runs(tmp_path):
    file = tmp_path / "videos.yaml"
    table = {"title": "Videos", "scale": "own", "metric": "test/video_top1", "rows": {"xvit": {"label": "X-ViT"}}}
    file.write_text(yaml.safe_dump({"table": table}))
    assert finetune._with_first_answer(file, 0, []) == ([tmp_path / "runs/videos/own/xvit/seed0"], file)
