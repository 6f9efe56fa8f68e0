"""Test that a stopped run says so, exits with its own status, and, resumed, ends like an uninterrupted one."""

import shutil
from pathlib import Path

import pytest
import torch

from lit_video.__main__ import main
from lit_video.runs.folder import has_result, read_finished, read_status
from lit_video.runs.packing import pack_runs
from lit_video.runs.record import Change
from lit_video.utils.processes import HANG_UP
from tests.conftest import quick_or_slow

SHORT = ["--trainer.logger=false"]
SIGNALS = {"SIGINT": 130, "SIGTERM": 143, "SIGUSR1": 75, "SIGUSR2": 75} | {each.name: 129 for each in HANG_UP}


def fault(kind, **settings):
    given = [f"--trainer.callbacks.init_args.{key}={value}" for key, value in settings.items()]
    return [f"--trainer.callbacks=tests.training.faults.{kind}", *given]


@pytest.fixture
def fit(table, tiny, tmp_path):
    """Function that runs the second row and returns its exit status and folder."""

    def run(*flags):
        command = ["fit", "--config", str(table[0]), "--row", "second", "--runs", str(tmp_path / "new")]
        return main([*command, *tiny, *SHORT, *flags]), tmp_path / "new/two/default/second/seed0"

    return run


def check_equal(run_dir, expected):
    """Check that metrics and weights equal those of an uninterrupted run."""
    result, other = (read_finished(folder).result for folder in (run_dir, expected))
    assert (result.metrics, result.steps) == (other.metrics, other.steps)
    weights, others = (
        torch.load(folder / "last.ckpt", weights_only=True)["state_dict"] for folder in (run_dir, expected)
    )
    assert weights.keys() == others.keys() and all(torch.equal(weights[key], others[key]) for key in others)


@pytest.mark.parametrize("name", quick_or_slow(SIGNALS, {"SIGUSR1"}))
def test_a_signal_stops_training_at_a_checkpoint(name, fit, finished, capfd):
    status, run_dir = fit(*fault("SignalAtStep", name=name), "--nan=fail")
    assert status == SIGNALS[name]
    said = "Ctrl-C" if name == "SIGINT" else name
    assert f"stopped by {said} at step 3 of 8; the same command again goes on" in capfd.readouterr().out
    assert not has_result(run_dir)
    end = read_status(run_dir)
    assert (end.state, end.step, end.steps) == ("preempted" if status == 75 else "stopped", 3, 8)
    assert torch.load(run_dir / "last.ckpt", weights_only=True)["global_step"] == 3
    assert fit()[0] == 0
    check_equal(run_dir, finished)
    assert read_status(run_dir) is None


@pytest.mark.slow
def test_a_signal_in_a_validation_stops_there(fit, finished):
    status, run_dir = fit(*fault("SignalAtStep", name="SIGTERM", phase="validation"))
    assert status == 143
    assert torch.load(run_dir / "last.ckpt", weights_only=True)["global_step"] == 4, "saved before the validation"
    assert fit()[0] == 0
    check_equal(run_dir, finished)


@pytest.mark.slow
def test_max_time_stops_training_and_does_not_call_it_complete(fit, finished):
    status, run_dir = fit("--trainer.max_time=00:00:00:00")
    assert status == 75
    assert read_status(run_dir).message.startswith("stopped by max_time at step 1 of 8")
    assert fit("--trainer.max_time={hours: 1}")[0] == 0
    check_equal(run_dir, finished)


@pytest.mark.slow
def test_training_may_become_longer(fit, table, tiny, tmp_path):
    constant = ["--model.optimization.warmup=0", "--model.optimization.milestones=[0.99]"]
    flags = ["--trainer.max_epochs=2"]
    status, run_dir = fit("--trainer.max_epochs=1", *constant)
    assert status == 0
    first = (run_dir / "run.json").read_bytes()
    assert fit(*flags, *constant)[0] == 0
    assert (run_dir / "run.step4.json").read_bytes() == first
    run = read_finished(run_dir)
    assert run.result.steps == 8
    assert run.changes == [Change("trainer.max_epochs", 1, 2)]
    once = ["fit", "--config", str(table[0]), "--row", "second", "--runs", str(tmp_path / "once"), *tiny, *SHORT]
    assert main([*once, *flags, *constant]) == 0
    check_equal(run_dir, tmp_path / "once/two/default/second/seed0")


def test_a_longer_training_beside_its_shorter_ones_pack_goes_on_after_a_stop(fit, begun, capfd):
    pack_runs([begun], begun.parents[3])
    longer = "--trainer.max_epochs=3"
    status, run_dir = fit(longer, "--trainer.max_time=00:00:00:00")
    assert (status, run_dir) == (75, begun)
    assert not has_result(run_dir), "the packed result is of the shorter training"

    assert fit(longer)[0] == 0
    assert "finished, skipped" not in capfd.readouterr().out
    run = read_finished(run_dir)
    assert run.result.steps == 12
    assert run.changes == [Change("trainer.max_epochs", 2, 3)]


@pytest.fixture
def begun(finished, tmp_path):
    """Finished run of 2 epochs in the folder that ``fit`` resumes."""
    return Path(shutil.copytree(finished, tmp_path / "new/two/default/second/seed0", symlinks=True))


def test_a_loss_that_is_not_finite_is_no_result(fit, capfd):
    wild = ["--model.optimization.lr=1e6", "--trainer.gradient_clip_val=null"]
    status, run_dir = fit(*wild)
    assert status == 1
    (line,) = [line for line in capfd.readouterr().err.splitlines() if line.startswith("error: ")]
    assert "second seed 0: loss is nan at step" in line
    assert not has_result(run_dir)
    assert read_status(run_dir).state == "failed"
    assert fit(*wild, "--nan=skip:1")[0] == 1, "one step is left out, the weights are beyond help"
    assert "update left out (0 more allowed)" in capfd.readouterr().out


def test_weights_that_are_not_finite_are_no_result(fit, capfd):
    # the last step's loss is finite, but the weights after it are not
    wild = ["--model.optimization.lr=1e38", "--model.optimization.optimizer=sgd", "--data.batch_size=16"]
    status, run_dir = fit(*wild, "--trainer.max_epochs=1", "--trainer.check_val_every_n_epoch=2")
    assert status == 1
    assert "test/video_top1 is nan in the test of" in capfd.readouterr().err
    assert not has_result(run_dir)


def test_a_killed_worker_is_one_line(fit, finished, capfd):
    status, run_dir = fit(*fault("KillWorker"), "--data.num_workers=1")
    assert status == 1
    printed = capfd.readouterr().err
    assert "DataLoader worker (pid" in printed or "another process of this run died" in printed
    assert "Traceback" not in printed
    assert fit()[0] == 0
    check_equal(run_dir, finished)


class Malicious:
    """Object that makes a file when it is unpickled."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return (Path.touch, (self.target,))


def test_code_in_a_checkpoint_is_not_run(fit, finished, begun, tmp_path, capfd):
    trap = tmp_path / "trap"
    (begun / "run.json").unlink()
    content = torch.load(begun / "last.ckpt", weights_only=True)
    torch.save(content | {"trap": Malicious(trap)}, begun / "last.ckpt")
    assert fit("--trainer.logger=true")[0] == 0
    assert not trap.exists()
    assert "last.ckpt: damaged (Weights only load failed" in capfd.readouterr().out
    check_equal(begun, finished)
