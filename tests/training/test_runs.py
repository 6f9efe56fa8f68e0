"""Test a row from YAML to its result, in this process, and exact resumption."""

from itertools import product

import pytest
import torch
from lightning import Callback

from lit_video.__main__ import main
from lit_video.experiment.spec import Spec
from lit_video.runs.folder import read_curves, read_finished
from lit_video.training.trainer import Training
from lit_video.utils.processes import StopSignals
from tests.command_line import parse_request
from tests.embedded import SKILLS
from tests.training.trained import train


def test_a_run_ends_with_a_whole_result(finished):
    run = read_finished(finished)
    result = run.result
    assert result.test_videos == 8  # 1 pair of 4 skills
    assert run.identity.data.startswith("temporal_skills-")
    assert result.steps == 2 * 16 // 4
    skills = {f"test/{of}/{name}" for of in ("direction", "recognised") for name in SKILLS}
    overall = {"test/video_top1", "test/video_top5", "test/recognised", "test/direction", "test/calibration_error"}
    of_training = {key.replace("test/", "train/") for key in skills | overall} - {"train/calibration_error"}
    assert set(result.metrics) == skills | overall | of_training | {"test/both_directions"}
    assert 0 <= result.metrics["test/video_top1"] <= result.metrics["test/video_top5"] <= 100
    assert (result.table, result.row, result.seed, result.views) == ("two", "second", 0, 3)
    config = run.identity.settings
    assert config["model"]["init_args"]["window"] == 1
    assert config["seed_everything"] == 0


def test_seconds_are_those_of_the_training(finished):
    """Count no second twice, although the test loads a checkpoint with the timer's state."""
    stored = torch.load(finished / "last.ckpt", weights_only=True)["callbacks"]["Timer"]["time_elapsed"]["train"]
    assert stored <= read_finished(finished).result.seconds < 2 * stored


def test_the_curve_has_the_accuracy_of_training(finished):
    """Check that accuracies are shares of the 16 clips of an epoch."""
    shares = [point["train/clip_top1"] * 16 / 100 for point in read_curves(finished)]
    assert len(shares) == 2
    assert shares == [pytest.approx(round(share), abs=1e-3) for share in shares]
    assert all(0 <= share <= 16 for share in shares)


def test_a_validation_has_its_point_of_the_curve_with_the_directions_by_skill(table, tiny, tmp_path):
    """Validate after steps 3 and 6 of two epochs of four steps."""
    often = ["--trainer.check_val_every_n_epoch=null", "--trainer.val_check_interval=3", "--trainer.logger=false"]
    row = ["--config", str(table[0]), "--row=second", "--runs", str(tmp_path)]
    assert main(["fit", *row, *[flag for flag in tiny if "check_val" not in flag], *often]) == 0

    points = read_curves(tmp_path / "two/default/second/seed0")
    assert [(point["epoch"], point["step"]) for point in points] == [(1, 3), (1, 4), (2, 6), (2, 8)]
    directions = {"val/direction", *(f"val/direction/{name}" for name in SKILLS)}
    validated = [point.keys() >= {"val/loss", "val/clip_top1"} | directions for point in points]
    assert validated == [True, False, True, False]
    assert ["train/loss" in point for point in points] == [False, True, False, True]
    for point in points[::2]:
        assert point["val/direction"] == pytest.approx(
            sum(point[f"val/direction/{name}"] for name in SKILLS) / len(SKILLS)
        )


PLAIN = ["--data.augmentation.policy=rand"]
RELEASED = ["--data.augmentation.policy=timm-v0", "--data.augmentation.crop=multiscale"]
RELEASED += ["--data.augmentation.cutmix=1.0", "--data.sampling=Segments", "--model.optimization.optimizer=muon"]


INSIDE = (6,)  # a step inside the second epoch of four steps


@pytest.mark.parametrize(
    ("workers", "recipe", "where"),
    [
        (2, RELEASED, INSIDE),
        pytest.param(0, PLAIN, range(1, 8), marks=pytest.mark.slow),
        pytest.param(2, RELEASED, range(1, 8), marks=pytest.mark.slow),
    ],
    ids=["inside_epochs", "plain", "released"],
)
def test_training_resumed_at_any_step_ends_with_the_same_weights(table, tiny, tmp_path, workers, recipe, where):
    # dropout, stochastic depth, erasing, mixup and cutmix: everything that draws random numbers
    flags = [*tiny, "--trainer.logger=false", f"--data.num_workers={workers}", "--model.drop_path_rate=0.2"]
    flags += ["--data.augmentation.mixup=0.4", "--data.augmentation.random_erasing=0.5", *recipe]
    row = ["--config", str(table[0]), "--row=second", *flags]
    expected, steps = train([*row, "--runs", str(tmp_path / "a")], save_to=tmp_path)[:2]
    assert steps == 8
    for step in where:
        resumed, total = train([*row, "--runs", str(tmp_path / f"b{step}")], resume=tmp_path / f"step{step}.ckpt")[:2]
        assert total == steps
        for key, value in expected.items():
            assert torch.equal(resumed[key], value), f"{key} after resuming at step {step}"
        whole, curve = (read_curves(next((tmp_path / name).rglob("curves.csv")).parent) for name in ("a", f"b{step}"))
        assert len(curve) == 2
        assert curve == whole


CLASSES = "[drift left, drift right, zoom growing, zoom shrinking]"
LESSON = ["--data.pairing=reverse", f"--data.lesson={{classes: {CLASSES}, steps: 3}}"]


@pytest.mark.parametrize(
    ("workers", "accumulate", "where"),
    [
        (0, 1, (3,)),
        *(pytest.param(*other, (2, 3, 4), marks=pytest.mark.slow) for other in product((0, 2), (1, 2))),
    ],
)
def test_training_resumed_around_the_end_of_a_lesson_ends_with_the_same_weights(
    table, tiny, tmp_path, workers, accumulate, where
):
    flags = [*tiny, "--trainer.logger=false", *LESSON, *RELEASED, "--data.augmentation.mixup=0.4"]
    flags += [f"--data.num_workers={workers}", f"--data.batch_size={4 // accumulate}"]
    flags += [f"--trainer.accumulate_grad_batches={accumulate}"]
    row = ["--config", str(table[0]), "--row=second", *flags]
    expected, steps = train([*row, "--runs", str(tmp_path / "a")], save_to=tmp_path)[:2]
    assert steps == 8
    for step in where:
        resumed, total = train([*row, "--runs", str(tmp_path / f"b{step}")], resume=tmp_path / f"step{step}.ckpt")[:2]
        assert total == steps
        assert all(torch.equal(resumed[key], value) for key, value in expected.items()), step


def test_a_lesson_shows_its_classes_alone_for_its_steps(table, tiny, tmp_path):
    row = ["--config", str(table[0]), "--row=second", *tiny, "--trainer.logger=false", "--runs", str(tmp_path)]
    cli = Training(Spec(parse_request([*row, *LESSON]).runs[0]), StopSignals("test"))
    cli.run_dir.mkdir(parents=True)
    seen = []

    class Labels(Callback):
        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            seen.append(batch["target"].argmax(1).tolist())

    cli.trainer.callbacks.append(Labels())
    cli.trainer.fit(cli.model, cli.datamodule)
    names = cli.datamodule.class_names
    lesson = {names.index(name) for name in ("drift left", "drift right", "zoom growing", "zoom shrinking")}
    assert set().union(*seen[:3]) == lesson
    assert set().union(*seen[3:]) == set(range(8))
    assert all([first ^ 1 for first in labels[::2]] == labels[1::2] for labels in seen), "films beside their reverses"


@pytest.mark.parametrize(
    ("flag", "line"),
    [
        ("--data.lesson={classes: [drift left, drift right], steps: 8}", "data.lesson.steps: 8 leave none of the"),
        ("--data.lesson={classes: [drift left], steps: 2}", "name the classes of both directions"),
        ("--data.lesson={classes: [drift lft], steps: 2}", "'drift lft' is no class (did you mean drift left?)"),
        ("--data.batch_size=3", "batch_size is 3, expected an even number"),
    ],
)
def test_a_lesson_that_cannot_be_given_is_refused_in_a_line(table, tiny, tmp_path, capsys, flag, line):
    row = ["fit", "--config", str(table[0]), "--row=second", *tiny, "--trainer.logger=false", "--runs", str(tmp_path)]
    assert main([*row, "--data.pairing=reverse", flag]) == 2
    assert line in capsys.readouterr().err
