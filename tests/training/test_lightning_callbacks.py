"""Test Lightning's own callbacks in a run: averaged weights, the best checkpoint, and refused searches."""

import re
from types import SimpleNamespace

import pytest
import torch
from lightning import Callback
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.utilities.types import LRSchedulerConfig
from torch.optim import SGD
from torch.optim.lr_scheduler import ReduceLROnPlateau

from lit_video.__main__ import main
from lit_video.engine.checkpoints import refuse_wrong_mode, refuse_wrong_schedules
from lit_video.errors import UserError
from lit_video.runs.folder import has_result, read_finished
from tests.conftest import write_table

AVERAGED = ["--trainer.callbacks+=EMAWeightAveraging", "--trainer.callbacks.decay=0.9"]
SEEN = []


class Watch(Callback):
    """Callback that notes the weights after every step."""

    def on_train_batch_end(self, trainer, pl_module, *args):
        SEEN.append(pl_module.network.norm.weight.detach().clone())


@pytest.fixture
def flags(tiny, tmp_path):
    return ["--config", str(write_table(tmp_path / "table.yaml")), "--row", "second", *tiny, "--trainer.logger=false"]


def run_dir(runs):
    return next(runs.glob("*/*/second/seed0"))


def test_the_moving_average_of_the_weights_is_tested_and_saved(flags, tmp_path):
    SEEN.clear()
    watch = f"--trainer.callbacks+={__name__}.Watch"
    assert main(["fit", *flags, "--runs", str(tmp_path / "runs"), *AVERAGED, watch]) == 0
    average = SEEN[0]
    for weights in SEEN[1:]:
        average = 0.9 * average + 0.1 * weights
    stored = torch.load(run_dir(tmp_path / "runs") / "last.ckpt", weights_only=True)["state_dict"][
        "network.norm.weight"
    ]
    torch.testing.assert_close(stored, average)
    assert not torch.allclose(stored, SEEN[-1], atol=1e-5)


@pytest.mark.slow
def test_a_run_with_averaged_weights_cannot_become_longer(flags, tmp_path, capfd):
    command = ["fit", *flags, "--runs", str(tmp_path / "runs"), *AVERAGED]
    assert main([*command, "--trainer.max_epochs=1"]) == 0
    assert main([*command, "--trainer.max_epochs=2"]) == 2
    assert "now it is 2 (averaged weights cannot be trained longer); give" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["LearningRateFinder", "BatchSizeFinder"])
def test_a_search_in_a_run_is_refused(name, flags, tmp_path, capfd):
    command = ["fit", *flags, "--runs", str(tmp_path / "runs"), f"--trainer.callbacks={name}"]
    assert main(command) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert re.search(rf"trainer\.callbacks: {name}: .* then set (model\.optimization\.lr|data\.batch_size)", line)
    assert not (tmp_path / "runs").exists()


class Schedule(Callback):
    """Callback that logs a known metric in validation, best in the second epoch."""

    def on_validation_epoch_end(self, trainer, pl_module):
        pl_module.log("val/known", float(trainer.current_epoch == 1))


BEST = [
    "--trainer.max_epochs=3",
    "--trainer.check_val_every_n_epoch=1",
    f"--trainer.callbacks+={__name__}.Schedule",
    "--trainer.callbacks+=ModelCheckpoint",
    "--trainer.callbacks.monitor=val/known",
    "--trainer.callbacks.mode=max",
]


@pytest.mark.slow
def test_the_checkpoint_of_the_best_validation_is_tested_in_a_run_that_went_on(flags, tmp_path):
    for count in (2, 3):
        command = ["fit", *flags, "--runs", str(tmp_path / "runs"), *BEST, f"--trainer.max_epochs={count}"]
        assert main(command) == 0
    folder = run_dir(tmp_path / "runs")
    result = read_finished(folder).result
    (best,) = (folder / "best").iterdir()
    assert result.weights.file == f"best/{best.name}"
    assert result.weights.step == torch.load(best, weights_only=True)["global_step"] == result.steps * 2 // 3
    assert read_finished(folder)
    weights = [
        torch.load(path, weights_only=True)["state_dict"]["network.norm.weight"]
        for path in (best, folder / "last.ckpt")
    ]
    assert not torch.equal(*weights)


class Tested(Callback):
    """Callback that notes the tested weights."""

    def on_test_start(self, trainer, pl_module):
        SEEN.append(pl_module.network.norm.weight.detach().clone())


def test_the_average_of_the_best_validation_is_tested_not_the_weights_that_training_went_on_with(flags, tmp_path):
    SEEN.clear()
    watch = f"--trainer.callbacks+={__name__}.Tested"
    assert main(["fit", *flags, "--runs", str(tmp_path / "runs"), *BEST, *AVERAGED, watch]) == 0
    (best,) = (run_dir(tmp_path / "runs") / "best").iterdir()
    stored = torch.load(best, weights_only=True)
    average, current = (stored[key]["network.norm.weight"] for key in ("state_dict", "current_model_state"))
    assert not torch.equal(average, current)
    assert len(SEEN) == 2, "the test videos and the training videos"
    assert all(torch.equal(seen, average) for seen in SEEN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("--trainer.check_val_every_n_epoch=9", "no checkpoint by val/known, since no validation ran"),
        pytest.param(
            "--trainer.callbacks.monitor=val/other",
            "second seed 0: trainer: `ModelCheckpoint(monitor='val/other')`",
            marks=pytest.mark.slow,
        ),
        ("--trainer.callbacks.dirpath=there", "trainer.callbacks: leave out dirpath"),
    ],
)
def test_without_a_best_validation_there_is_no_result(change, message, flags, tmp_path, capfd):
    assert main(["fit", *flags, "--runs", str(tmp_path / "runs"), *BEST, change]) != 0
    assert message in capfd.readouterr().err
    assert not has_result(run_dir(tmp_path / "runs"))


@pytest.mark.parametrize("kind", [ModelCheckpoint, EarlyStopping])
@pytest.mark.parametrize(
    ("monitor", "mode", "word"),
    [
        ("val/clip_top1", {}, "max"),
        ("val/clip_top5", {"mode": "min"}, "max"),
        ("val/verb_top1", {"mode": "min"}, "max"),
        ("val/mean_average_precision", {}, "max"),
        ("val/loss", {"mode": "max"}, "min"),
        ("train/clip_top1", {"mode": "max"}, "val/clip_top1"),
    ],
)
def test_a_callback_that_would_choose_the_worst_value_is_refused(kind, monitor, mode, word):
    with pytest.raises(UserError) as error:
        refuse_wrong_mode([kind(monitor=monitor, **mode)])
    line = str(error.value)
    assert kind.__name__ in line and monitor in line and word in line


def test_a_run_with_such_a_callback_is_refused_before_it_is_written(flags, tmp_path, capfd):
    given = ["--trainer.callbacks+=EarlyStopping", "--trainer.callbacks.monitor=val/clip_top1"]
    assert main(["fit", *flags, "--runs", str(tmp_path / "runs"), *given]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "EarlyStopping" in line and "val/clip_top1" in line and "max" in line
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("monitor", "mode", "right"), [("val/clip_top1", "min", "max"), ("val/loss", "max", "min")])
def test_a_schedule_that_would_take_the_worst_value_for_the_best_is_refused(monitor, mode, right):
    schedule = ReduceLROnPlateau(SGD([torch.zeros(1, requires_grad=True)]), mode=mode)
    config = LRSchedulerConfig(schedule, monitor=monitor, reduce_on_plateau=True)
    with pytest.raises(UserError, match=f"ReduceLROnPlateau: mode is {mode}.* set mode to {right}"):
        refuse_wrong_schedules(SimpleNamespace(lr_scheduler_configs=[config]))
    schedule.mode = right
    refuse_wrong_schedules(SimpleNamespace(lr_scheduler_configs=[config]))
