"""Test that a run stopped at any point ends as an undisturbed one: curve, checkpoints, chosen checkpoint, logits."""

from contextlib import suppress
from itertools import product

import numpy as np
import pytest
import torch
from lightning import Callback

from lit_video.__main__ import main
from lit_video.runs.folder import read_curves, read_finished

# hooks around a validation, in the order in which Lightning calls them
POINTS = (
    "on_train_batch_end",
    "on_validation_start",
    "on_validation_batch_end",
    "on_validation_end",
    "on_train_epoch_end",
    "on_train_end",
    "on_test_start",
)
BEST = ["--trainer.callbacks+=ModelCheckpoint", "--trainer.callbacks.monitor=val/loss", "--trainer.callbacks.mode=min"]
EARLY = ["--trainer.callbacks+=EarlyStopping", "--trainer.callbacks.monitor=val/loss", "--trainer.callbacks.patience=1"]
EARLY += ["--trainer.callbacks.mode=min", "--trainer.callbacks.min_delta=9"]
SETTINGS = {
    "each epoch": BEST,
    "other epochs": [*BEST, "--trainer.check_val_every_n_epoch=2"],
    "at the end": [*BEST, "--trainer.check_val_every_n_epoch=3"],
    "within epochs": [*BEST, "--trainer.val_check_interval=0.5"],
    "early stopping": [*BEST, *EARLY],
    "most steps": [*BEST, "--trainer.max_epochs=-1", "--trainer.max_steps=8"],
    "most steps within an epoch": ["--trainer.max_epochs=-1", "--trainer.max_steps=6"],
    "one step": [*BEST, "--data.batch_size=16"],
    "by the training's loss": [*BEST, "--trainer.callbacks.monitor=train/loss"],
    "by steps": [*BEST, "--trainer.callbacks.every_n_train_steps=4"],
    "no validation": ["--trainer.limit_val_batches=0"],
}


class Killed(BaseException):
    """End of a process that could not do anything any more."""


class KillAt(Callback):
    """Callback that ends the run at a hook, the nth time from a step on; it is of the callbacks that show only."""

    hook, step = "", 0

    def __getattribute__(self, name):
        if name == KillAt.hook:
            return self._kill
        return super().__getattribute__(name)

    def _kill(self, trainer, *args):
        if trainer.global_step >= KillAt.step:
            raise Killed


@pytest.fixture
def fit(table, tiny, tmp_path):
    """Function that runs the second row in a folder and returns it."""

    def run(name, *flags):
        command = ["fit", "--config", str(table[0]), "--row", "second", "--runs", str(tmp_path / name), *tiny]
        command += ["--trainer.max_epochs=3", "--trainer.logger=false"]
        killing = f"--trainer.callbacks+={__name__}.KillAt"
        assert main([*command, *flags, killing]) == 0
        return tmp_path / name / "two/default/second/seed0"

    return run


def check_equal(run_dir, expected):
    """Check the result, the curve, the last and all other checkpoints, and the logits."""
    run, other = (read_finished(folder) for folder in (run_dir, expected))
    for key in ("metrics", "steps", "weights"):
        assert getattr(run.result, key) == getattr(other.result, key)
    assert not [change for change in run.changes if change.key != "commit"]  # somebody may commit meanwhile
    assert read_curves(run_dir) == read_curves(expected)
    assert (run_dir / "curves.csv").read_bytes() == (expected / "curves.csv").read_bytes()
    files, others = (
        sorted(path.relative_to(folder) for path in folder.rglob("*.ckpt")) for folder in (run_dir, expected)
    )
    assert files == others
    for file in files:
        weights, right = (torch.load(folder / file, weights_only=True) for folder in (run_dir, expected))
        assert weights["global_step"] == right["global_step"]
        assert all(torch.equal(weights["state_dict"][key], right["state_dict"][key]) for key in right["state_dict"])
    logits, right = (np.load(folder / "predictions.npz")["logits"] for folder in (run_dir, expected))
    assert np.array_equal(logits, right)


@pytest.mark.parametrize(
    ("setting", "hooks"),
    [
        ("at the end", POINTS[3:4]),
        pytest.param("at the end", POINTS[1:3], marks=pytest.mark.slow),
        *(pytest.param(name, POINTS, marks=pytest.mark.slow) for name in SETTINGS if name != "at the end"),
    ],
)
def test_a_run_stopped_at_any_point_ends_as_an_undisturbed_one(setting, hooks, fit, monkeypatch):
    """Stop in the last validation; the slow tests, wherever a run can be stopped, at its half and at its end."""
    expected = fit("whole", *SETTINGS[setting])
    steps = read_finished(expected).result.steps
    points = [*product(hooks, (steps,), (1000,))]
    if hooks == POINTS:
        points += product(POINTS, (steps // 2, steps), (0,))
    for hook, step, every in points:
        monkeypatch.setattr(KillAt, "hook", hook)
        monkeypatch.setattr(KillAt, "step", step)
        name = f"{hook}-{step}-{every}"
        flags = [*SETTINGS[setting], f"--checkpoint_every={every}"]
        with suppress(Killed):
            fit(name, *flags)
        monkeypatch.setattr(KillAt, "hook", "")
        check_equal(fit(name, *flags), expected)
