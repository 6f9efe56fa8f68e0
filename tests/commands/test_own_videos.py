"""Test the way from a folder of videos to a trained model, and to a comparison of schemes."""

import csv
import io
import json
import re
import shlex
import shutil
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from filelock import FileLock

from lit_video.__main__ import main
from lit_video.api import finetune
from lit_video.api.compare import Compared
from lit_video.commands.parser import parse
from lit_video.datamodules.drawing import encode
from lit_video.datamodules.inspection import open_dataset
from lit_video.datamodules.manifest import MANIFEST, write_rows
from lit_video.datamodules.probe import VideoInfo
from lit_video.experiment.cli import VideoCLI
from lit_video.experiment.layers import of_files, with_user_settings
from lit_video.inference.predict import load
from lit_video.launching import queue
from lit_video.network.aggregation import linear_head
from lit_video.own_videos.experiment import Asked, experiment_file, refuse_other_plan
from lit_video.runs.folder import read_finished, run_folders
from lit_video.runs.predictions import OF_SAME_VIDEOS, ORDERS, read_further, read_logits, read_predictions
from lit_video.settings.flags import UserSetting
from lit_video.tables.reading import read_table
from lit_video.tables.summary import read_runs
from lit_video.utils.processes import FAILED
from lit_video.utils.yaml_files import read_yaml
from tests.command_line import parse_request
from tests.commands.conftest import row_in_this_process, train_nothing
from tests.conftest import draw_nothing, quick_or_slow

SMALL = [
    "--model.size.embed_dim=16",
    "--model.size.depth=1",
    "--model.size.num_heads=2",
    "--model.image_weights=null",
    "--data.num_frames=4",
    "--data.image_size=16",
    "--trainer.max_epochs=2",
    "--trainer.logger=false",
]


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    """Folder with three classes of ten videos, from three recordings."""
    folder, rng = tmp_path_factory.mktemp("rooms"), np.random.default_rng(0)
    for label in ("walk", "sit", "fall"):
        (folder / label).mkdir()
        for i in range(10):
            picture = rng.integers(0, 255, (8, 24, 32, 3), np.uint8)
            encode(folder / f"{label}/rec{i % 3}_{i}.mp4", picture, 8)
    return folder


@pytest.fixture
def videos(rooms, tmp_path, monkeypatch):
    """Copy of the videos in the working directory."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(rooms, tmp_path / "rooms")


@dataclass(frozen=True)
class FineTuned:
    """A folder of videos, one of them broken, after a first ``finetune``."""

    folder: Path  # working directory
    said: str  # output of the command

    @property
    def command(self):
        return ["finetune", "rooms", "--weights", "none", "--minutes", "0.01", *SMALL]

    @property
    def own(self):
        """Folder of the plan and its results."""
        return self.folder / "own/rooms"

    @property
    def run(self):
        """Run of the model that is trained on all videos."""
        return self.own / "runs/rooms/own/all/seed0"

    @property
    def last_lines(self):
        """Last lines of the output: accuracy and meaning, baseline, confusions, folds, use of time, next step."""
        lines = self.said.strip().splitlines()
        first = next(number for number, line in enumerate(lines) if " test videos are right (" in line)
        return lines[first:]


@pytest.fixture(scope="module")
def first_call(rooms, made_once):
    """Fine-tune once for the tests that look at what is there then."""

    def fill(folder):
        videos = shutil.copytree(rooms, folder / "work/rooms")
        (videos / "walk/rec9_1.mp4").write_bytes(b"no video")
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as output:
            patch.chdir(videos.parent)
            patch.setattr(queue, "launch", row_in_this_process)
            patch.setattr("lit_video.utils.logistic.STRENGTHS", (1e-2,))
            draw_nothing(patch)
            assert main(FineTuned(videos.parent, "").command) == 0
        (folder / "said.txt").write_text(output.getvalue())

    folder = made_once("fine_tuned", fill)
    return FineTuned(folder / "work", (folder / "said.txt").read_text())


@pytest.fixture
def tuned(first_call, monkeypatch, rows_in_this_process):
    """The fine-tuned folder as working directory, for one test at a time."""
    monkeypatch.chdir(first_call.folder)
    with FileLock(first_call.folder.with_name("in_use.lock")):
        yield first_call


def test_what_is_found_and_chosen_is_said_before_training(tuned):
    assert "31 videos of 3 classes in rooms (class folders)" in tuned.said
    assert "left out: walk/rec9_1.mp4: " in tuned.said
    assert "file names such as rec0: 3 groups ('rec0', ...)." in tuned.said
    assert "With 30 test videos, two models that differ by less than 25 points" in tuned.said
    assert "clips: each shows a whole video; videos last 1.0 to 1.0 s" in tuned.said
    assert "4 trainings, " in tuned.said
    assert "This takes about" in tuned.said and "This took" in tuned.said


def test_the_output_names_no_fold_and_no_column_that_is_not_used(tuned):
    assert "tested on fold1" not in tuned.said
    assert "columns that are not used" not in tuned.said


def test_the_model_of_all_videos_has_the_tests_of_the_folds(tuned):
    _check_folds(tuned.run)
    rows = csv.DictReader((tuned.run / "curves.csv").read_text().splitlines())
    assert not any(row[column] for row in rows for column in row if column.startswith("val/")), "no validation videos"


def test_the_output_ends_with_accuracy_baseline_confusions_and_the_next_step(tuned):
    accuracy, meaning, baseline, confused, how, matters, *_, last, page = tuned.last_lines
    assert re.fullmatch(r"[\d.]+ % of 30 test videos are right \(95 % interval \d+ to \d+ %, over 3 groups\)", accuracy)
    low, high = re.findall(r"\d+", accuracy.partition("interval")[2])[:2]
    assert f"{low} to {high} of 100 " in meaning
    assert re.match(r"Baseline: .*'\w+' gives 33.3 %", baseline)
    assert 1 <= len(re.findall(r"'\w+' taken for '\w+' \(\d+\)", confused)) <= 3
    assert "in 3 parts (" in how

    time = finetune.Tested(tuned.run, tuned.own / "rooms.html", None).time
    assert matters == time.sentences[0]
    assert time.videos == 30

    if float(accuracy.split()[0]) > 33.4:
        assert last.endswith(f"lit_video predict --ckpt {tuned.run.relative_to(tuned.folder)} VIDEO")
    else:
        assert "--minutes" in last and "predict" not in last
    assert page.startswith("Open own/rooms/rooms.html in a browser")


def test_the_page_begins_with_these_lines(tuned):
    page = (tuned.own / "rooms.html").read_text()
    shown = re.sub(r"<(script|style|svg).*?</\1>", "", page, flags=re.S)
    lines = [line.replace("'", "&#39;") for line in tuned.last_lines[:4]]
    next_step = tuned.last_lines[-2].partition(":")[0]
    below = ("Accuracy by class", "What was taken for what", "For researchers", "Trained by muon", "Learning curves")
    places = [shown.index(text) for text in (*lines, next_step, *below)]
    assert places == sorted(places)
    assert "validation top-1" not in page, "there is no validation"


def test_the_card_has_the_tests_of_the_folds_by_class(tuned):
    card = (tuned.own / "README.md").read_text()
    assert "% of 30 test videos are right" in card
    assert "was not tested itself" in card
    assert "| walk | 10 |" in card
    assert "temperature" in card


def test_the_plan_is_an_ordinary_experiment_with_reasons_in_its_comments(tuned, capsys):
    path = tuned.own / "rooms.yaml"
    assert "# Made by lit_video finetune rooms --minutes 0.01" in path.read_text()
    assert "#   data.augmentation" in path.read_text()
    assert read_yaml(path)["data"]["init_args"]["root"] == str(tuned.folder / "rooms")

    row = ["--config", str(path), "--row", "fold1"]
    assert main(["fit", *row, "--runs", "own/rooms/runs", *SMALL]) == 0
    assert "finished, skipped" in capsys.readouterr().out


def test_a_second_call_goes_on_with_the_plan_and_its_runs(tuned, capsys):
    """Call without minutes; with the same minutes, see the test of folders of any name."""
    assert main(["finetune", "rooms", "--weights", "none", *SMALL]) == 0
    said = capsys.readouterr().out
    assert "own/rooms/rooms.yaml" in said
    assert "finished, skipped" in said
    assert "not in this plan" not in said
    assert read_finished(tuned.run).result.test_videos == 30


@pytest.mark.parametrize(("flag", "value"), [("--minutes", "3"), ("--scheme", "joint")])
def test_a_second_call_with_another_wish_is_refused(flag, value, tuned, capsys):
    assert main(["finetune", "rooms", flag, value]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {flag} {value}") and "own/rooms/rooms.yaml" in said


@pytest.mark.usefixtures("known_pace")
def test_the_advice_to_plan_anew_does_so(tuned, capsys, monkeypatch):
    monkeypatch.setattr("lit_video.api.own_videos.fit_for", train_nothing)
    assert main(["finetune", "rooms", "--minutes", "3"]) == 2
    (advised,) = re.findall(r"to plan anew, give (--output \S+)", capsys.readouterr().err)
    assert main(["finetune", "rooms", "--weights", "none", "--minutes", "3", *advised.split(), *SMALL]) == FAILED
    assert (tuned.folder / "own/rooms_2/rooms.yaml").exists()
    shutil.rmtree(tuned.folder / "own/rooms_2")


@pytest.mark.usefixtures("known_pace")
def test_runs_whose_plan_was_deleted_are_named_with_a_way_on(videos, capsys, monkeypatch):
    monkeypatch.setattr("lit_video.api.own_videos.fit_for", train_nothing)
    (videos.parent / "own/rooms/runs/rooms/own").mkdir(parents=True)
    command = ["finetune", "rooms", "--weights", "none", "--minutes", "0.01"]
    assert main(command) == 2
    (advised,) = re.findall(r"to plan anew, give (--output \S+)", capsys.readouterr().err)
    assert main([*command, *advised.split()]) == FAILED


def test_the_folder_of_a_finetune_stands_for_its_run(tuned, capsys):
    assert main(["predict", "--ckpt", "own/rooms", "rooms/sit/rec0_0.mp4", "--top", "1"]) == 0
    by_folder = capsys.readouterr().out
    assert main(["predict", "--ckpt", str(tuned.run), "rooms/sit/rec0_0.mp4", "--top", "1"]) == 0
    assert capsys.readouterr().out == by_folder
    assert main(["predict", "--ckpt", "own/rooms/runs/rooms/own/fold1", "rooms/sit/rec0_0.mp4"]) == 0


def test_a_report_looks_at_own(tuned, capsys):
    assert main(["report", "--overridden", "-o", "all.html"]) == 0
    assert "1 table, 4 runs" in capsys.readouterr().err


def test_own_videos_are_logged_nowhere_unless_asked(tuned):
    plan = tuned.own / "rooms.yaml"
    assert read_yaml(plan)["trainer"]["logger"] is False
    assert "runs are logged nowhere" in plan.read_text().replace("\n# ", " ")
    assert not [*tuned.own.rglob("wandb")]
    asked = with_user_settings(of_files([plan]), [UserSetting("trainer.logger", True)])
    assert asked["trainer"]["logger"] is True


def test_the_model_predicts_and_knows_the_videos_of_its_training(tuned, capsys):
    assert main(["predict", "--ckpt", str(tuned.run), "rooms/sit"]) == 0
    said = capsys.readouterr().err
    assert "10 of 10 trained on" in said
    assert f"{tuned.run}/mistakes.csv" in said


def _check_folds(run):
    """Check that the final model has the folds' accuracy, and their temperature in its checkpoint."""
    result = read_finished(run).result
    folds = [run.parents[1] / name / "seed0" for name in result.folds]
    read = [read_logits(fold) for fold in folds]
    right = np.concatenate([logits.argmax(1) == target for logits, target, _ in read])
    assert len(right) == result.test_videos == 30
    assert result.metrics["test/video_top1"] == pytest.approx(100 * right.mean())
    assert [read_finished(fold).result.test_videos for fold in folds] == [len(logits) for logits, _, _ in read]
    mistakes = list(csv.DictReader((run / "mistakes.csv").read_text().splitlines()))
    assert {*(row["fold"] for row in mistakes)} <= {*result.folds} and len(mistakes) == 30 - right.sum()
    of_folds = [csv.DictReader((fold / "mistakes.csv").read_text().splitlines()) for fold in folds]
    assert sorted(row["file"] for row in mistakes) == sorted(row["file"] for rows in of_folds for row in rows)
    assert result.test_seen == 0
    _check_orders(run, folds, result)
    _check_draws(run)
    checkpoint = torch.load(run / "last.ckpt", weights_only=True)
    assert checkpoint["lit_video"]["temperature"] == result.temperature
    trained = checkpoint["state_dict"].values()
    weight = linear_head(load(run / "last.ckpt").model.network).weight.data * result.temperature
    assert any(value.shape == weight.shape and torch.allclose(value, weight) for value in trained)


def _check_draws(run):
    """Check that the final model's test knows the three recordings, each one draw, whatever fold a video is in."""
    draws = read_predictions(run).draws
    assert (draws.kind, draws.count) == ("group", 3)
    names = []
    for fold in read_finished(run).result.folds:
        settings = read_finished(run.parents[1] / fold / "seed0").identity.settings
        names += [
            path.rpartition("/")[2][:4] for path in open_dataset({"data": settings["data"]}).records("test").paths
        ]
    assert len({*zip(names, draws.number.tolist(), strict=True)}) == len({*names}) == 3


def _check_orders(run, folds, result):
    """Check that the final model has the folds' tests with frames in other orders, paired with those as they are."""
    forward = read_predictions(run, result)
    for order in OF_SAME_VIDEOS:
        changed = read_further(run, result, order)
        assert changed.video.tolist() == forward.video.tolist() == [*range(30)]
        np.testing.assert_array_equal(changed.tasks[""].target, forward.tasks[""].target)
        of_folds = [read_further(fold, read_finished(fold).result, order).hits() for fold in folds]
        np.testing.assert_array_equal(changed.hits(), np.concatenate(of_folds))
        assert result.metrics[f"{order}/video_top1"] == pytest.approx(100 * np.concatenate(of_folds).mean())


@pytest.fixture
def split_videos(videos):
    """Videos of which one of each class is given as a test video, so that one training is enough."""
    for label in ("walk", "sit", "fall"):
        (videos / "train").mkdir(exist_ok=True)
        (videos / "test" / label).mkdir(parents=True)
        (videos / label / "rec0_0.mp4").rename(videos / "test" / label / "rec0_0.mp4")
        (videos / label).rename(videos / "train" / label)
    return videos


@pytest.mark.usefixtures("known_pace")
def test_few_videos_with_given_splits_are_tested_as_given(split_videos, monkeypatch):
    monkeypatch.setattr("lit_video.api.own_videos.fit_for", train_nothing)
    assert main(["finetune", "rooms", "--weights", "none", "--minutes", "0.01"]) == FAILED
    assert list(read_yaml(split_videos.parent / "own/rooms/rooms.yaml")["table"]["rows"]) == ["xvit"]


@pytest.mark.slow
@pytest.mark.parametrize("table", [False, True])
@pytest.mark.usefixtures("known_pace")
def test_training_videos_alone_give_validation_and_test_videos_of_their_own(table, videos, capsys, monkeypatch):
    monkeypatch.setattr("lit_video.api.own_videos.fit_for", train_nothing)
    monkeypatch.setattr("lit_video.own_videos.dividing.FEW_FOR_FOLDS", 0)
    monkeypatch.setattr("lit_video.own_videos.dividing.FEW_TO_DIVIDE", 0)
    lines = [f"rooms/{path.relative_to(videos)},{path.parent.name}" for path in sorted(videos.glob("*/*.mp4"))]
    (videos.parent / "train.csv").write_text("\n".join(["path,label", *lines]))
    for label in () if table else ("walk", "sit", "fall"):
        (videos / "train").mkdir(exist_ok=True)
        (videos / label).rename(videos / "train" / label)
    assert (
        main(["finetune", "train.csv" if table else "rooms", "--minutes", "0.01", "--no-frozen", "-o", "own"]) == FAILED
    )
    (file,) = (videos.parent / "own").glob("*.yaml")
    data = VideoCLI(of_files([file])).build("meta").datamodule
    paths = [set(data.records(split).paths) for split in ("train", "val", "test")]
    assert all(paths) and sum(map(len, paths)) == len(set.union(*paths)) == 30
    capsys.readouterr()
    assert main(["fit", "--config", str(file), "--runs", "runs", "--data.test_values=[val]"]) == 2
    refused = r"ModelCheckpoint chooses by val/clip_top1, and \d+ of the validation videos"
    assert re.search(refused, capsys.readouterr().err)


NAMES = [("Mein Händy (1) [x]", "Mein-Handy-1-x"), ("-clips'; ls", "clips-ls"), ("走る", "videos")]


@pytest.mark.parametrize(("name", "file"), NAMES)
def test_a_plan_has_a_name_near_to_the_folder_s(name, file, tmp_path):
    assert experiment_file(tmp_path / name, None) == Path("own") / file / f"{file}.yaml"


@pytest.mark.parametrize(("name", "file"), quick_or_slow(NAMES, {NAMES[1]}))
@pytest.mark.usefixtures("known_pace")
def test_a_folder_of_any_name_is_planned(name, file, videos, monkeypatch):
    monkeypatch.setattr("lit_video.api.own_videos.fit_for", train_nothing)
    folder = videos.rename(videos.parent / name)
    assert main(["finetune", "--minutes", "0.01", "-o", "own/my clips", "--", name]) == FAILED
    plan = videos.parent / f"own/my clips/{file}.yaml"
    settings = with_user_settings(of_files([plan]), [UserSetting("data.train_values", ["fold1"])])
    assert VideoCLI(settings).build("meta").datamodule.data_root() == folder
    how = plan.read_text().splitlines()[1].partition("Run by  lit_video ")[2]
    assert len(parse_request(shlex.split(how)[1:]).runs) == 4
    assert main(["finetune", "--minutes", "0.01", "-o", "own/my clips", "--", name]) == FAILED, "resumed"


def test_too_few_videos_are_refused_before_weights_are_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lit_video.own_videos.starts.at_hand", lambda name: pytest.fail("weights were asked for"))
    for name in ("walk/1.mp4", "sit/1.mp4"):
        (tmp_path / "two" / name).parent.mkdir(parents=True)
        (tmp_path / "two" / name).touch()
    assert main(["finetune", "two"]) == 2
    assert "3 videos or more" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "said"), [("broken.mp4", 0), ("later.mp4", 1)])
def test_only_videos_that_came_later_are_said_to_be_missing_in_a_plan(name, said, tmp_path):
    file = tmp_path / "own/rooms.yaml"
    (tmp_path / "rooms/walk").mkdir(parents=True)
    (tmp_path / "rooms/sit").mkdir()
    (tmp_path / "own").mkdir()
    for path in ("walk/1.mp4", "sit/1.mp4", f"walk/{name}"):
        (tmp_path / "rooms" / path).touch()
    (tmp_path / "own/videos.csv").write_text("path,label\nwalk/1.mp4,walk\nsit/1.mp4,sit\n")
    data = f"{{init_args: {{root: {tmp_path / 'rooms'}, train: {tmp_path / 'own/videos.csv'}}}}}"
    file.write_text(f"data: {data}\n")
    write_rows(
        file.with_name(MANIFEST), [VideoInfo("walk/1.mp4"), VideoInfo("sit/1.mp4"), VideoInfo("walk/broken.mp4")]
    )
    assert refuse_other_plan(file, tmp_path / "rooms", Asked()).count("1 new video") == said


def test_paths_may_begin_with_a_dash(videos):
    (videos.parent / "-o.mp4").touch()
    assert parse(["report", "--", "-a", "--b"]).runs == [Path("./-a"), Path("./--b")]
    assert parse(["report", "-o.mp4", "c"]).runs == [Path("./-o.mp4"), Path("c")]


@pytest.mark.usefixtures("known_pace")
def test_a_setting_that_fails_leaves_no_plan_behind(videos, capsys):
    assert main(["finetune", "rooms", "--model.freez", "x"]) == 2
    assert "model.freez" in capsys.readouterr().err and not (videos.parent / "own").exists()
    assert main(["finetune", "rooms", "--minutes", "0.01", "--data.num_frames", "-1"]) == 2
    assert "frames" in capsys.readouterr().err and not (videos.parent / "own/rooms/rooms.yaml").exists()


@pytest.mark.usefixtures("known_pace")
def test_a_mistake_in_an_edited_plan_leaves_the_plan_there(videos, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("lit_video.api.own_videos.fit_for", train_nothing)
        assert main(["finetune", "rooms", "--minutes", "0.01"]) == 1
    plan = videos.parent / "own/rooms/rooms.yaml"
    edited = plan.read_text().replace("batch_size:", "batch_siz:")
    plan.write_text(edited)
    assert main(["finetune", "rooms", "--minutes", "0.01"]) == 2
    assert "batch_siz" in capsys.readouterr().err
    assert plan.read_text() == edited


@pytest.mark.parametrize(
    "command",
    [["finetune"], pytest.param(["compare", "--schemes", "divided"], marks=pytest.mark.slow)],
    ids=["finetune", "compare"],
)
@pytest.mark.usefixtures("known_pace")
def test_a_plan_is_for_the_folder_that_it_was_made_of(command, videos, capsys, monkeypatch):
    """Refuse another folder of the same name, because both have one default output."""
    monkeypatch.setattr("lit_video.api.own_videos.fit_for", train_nothing)
    (videos.parent / "elsewhere").mkdir()
    assert main([*command, "rooms", "--minutes", "0.01"]) == 1
    moved = (videos / "sit/rec0_0.mp4").rename(videos / "walk/moved.mp4")
    capsys.readouterr()
    assert main([*command, "rooms"]) == 2
    assert f"{videos}/sit/rec0_0.mp4: was sit when own/rooms/rooms" in (said := capsys.readouterr().err)
    assert ".yaml was planned, is gone now; to plan anew, give --output own/rooms_2" in said
    moved.rename(videos / "sit/rec0_0.mp4")
    other = videos.rename(videos.parent / "elsewhere/rooms")
    assert main([*command, str(other), "--minutes", "0.01"]) == 2
    assert f"{other}: own/rooms/rooms" in (said := capsys.readouterr().err)
    assert f"is planned already, for the videos in {videos}; to plan anew, give --output own/rooms_2" in said
    assert main([*command, str(other), "-o", str(other)]) == 2  # beside the videos its table would be read as theirs
    assert "the table written there would be read as the videos'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("known_pace")
def test_a_run_is_a_start_for_other_videos(run, split_videos, capsys, rows_in_this_process):
    command = ["finetune", "rooms", "--weights", str(run), "--minutes", "0.01", "--no-frozen"]
    command += ["--trainer.max_epochs=1", "--trainer.logger=false"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "it has no classifier of these classes: the classifier starts from scratch" in said
    assert f"model: {run}" in said
    content = read_yaml(split_videos.parent / "own/rooms/rooms.yaml")
    assert content["model"]["init_args"]["size"]["embed_dim"] == 16
    assert (content["data"]["init_args"]["num_frames"], content["data"]["init_args"]["image_size"]) == (4, [16, 8])
    assert main([*command[:4], "-o", "x", "--scheme", "divided"]) == 2
    assert "weights of XViT decide the scheme; leave --scheme out" in capsys.readouterr().err


@pytest.mark.usefixtures("known_pace")
def test_schemes_side_by_side(videos, capsys, rows_in_this_process, monkeypatch):
    monkeypatch.setattr("lit_video.utils.logistic.STRENGTHS", (1e-2,))
    command = ["compare", "rooms", "--schemes", "divided,vivit2", "--seeds", "0", "--minutes", "0.01", *SMALL]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "Paired differences" in said and " ours" not in said
    then = r"(Next, |This model is of no use yet)"
    assert re.search(
        rf"highest accuracy is that of .*; with seed 0:\n[\d.]+ % of .*\nIn words: .*\nBaseline: .*\n(.*\n)*{then}",
        said,
    )
    assert "Does time matter" in said
    config = "own/rooms/rooms_compare.yaml"
    content = read_yaml(videos.parent / config)
    assert list(content["table"]["rows"]) == ["divided", "vivit2"]
    assert content["data"]["init_args"]["train"].endswith("own/rooms/rooms_compare_videos.csv"), "not finetune's"
    assert len(run_folders(videos.parent / "own/rooms/runs/rooms_compare/own")) == 2
    page = (videos.parent / "own/rooms/rooms_compare.html").read_text()
    read = read_runs(read_table([videos.parent / config]), videos.parent / "own/rooms/runs", overridden=True)
    assert list(Compared(read, None, None).time) == ["divided", "vivit2"]
    assert all(f"top1 {order}" in page for order in ORDERS) and page.count("Does time matter to this model?") == 2
    assert "paper" not in re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S).lower()
    capsys.readouterr()
    assert main(["table", "--config", config, "--runs", "own/rooms/runs", "--format", "json", "--overridden"]) == 0
    assert len(json.loads(capsys.readouterr().out)["pairs"]) == 1
