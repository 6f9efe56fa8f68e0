"""Test lines and state of a training: progress, speed, time left, and the share of time that waits for data."""

from types import SimpleNamespace

import pytest
import torch

from lit_video.engine.progress import Progress
from lit_video.runs.folder import read_status


def test_lines_and_state_have_speed_time_left_and_the_share_that_waits_for_data(tmp_path, monkeypatch, capsys):
    clock, logged = [0.0], []
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    trainer = SimpleNamespace(global_step=0, estimated_stepping_batches=100, world_size=2, accumulate_grad_batches=1)
    trainer.is_global_zero, trainer.train_dataloader = True, SimpleNamespace(waited=0.0)
    trainer.callback_metrics = {"train/loss": torch.tensor(0.5)}
    progress, batch = Progress("row seed 0", tmp_path), {"clip": [0] * 16}
    module = SimpleNamespace(log=lambda name, value, **options: logged.append((name, round(value.item(), 4))))
    progress.on_train_start(trainer, module)
    # the first step's wait, in which workers start, does not count
    for seconds, waited, step in ((0.5, 0.4, 1), (15.0, 3.3, 10), (30.5, 6.4, 20)):
        clock[0], trainer.train_dataloader.waited, trainer.global_step = seconds, waited, step
        progress.on_train_batch_end(trainer, module, None, batch, step)
        assert read_status(tmp_path).step == (0 if step == 1 else step), "written once a second"
    assert logged == [("train/data_wait", share) for share in (0, 20, 20)]
    assert capsys.readouterr().out == (
        "row seed 0: step 20 of 100, 0.5 loss, 21 clips/s, 2 min left, 20 % of the time waits for videos\n"
    )
    status = read_status(tmp_path)
    assert (status.clips_per_second, status.seconds_left) == pytest.approx((640 / 30.5, 122))
    assert status.data_wait == pytest.approx(20)
    clock[0] = 1000.0
    progress.on_validation_end(trainer, module)
    progress.on_train_batch_end(trainer, module, None, batch, 21)
    clock[0], trainer.train_dataloader.waited = 1002.0, 7.4
    progress.on_train_batch_end(trainer, module, None, batch, 22)
    assert [share for _, share in logged[3:]] == [0, 50], "validation does not count as waiting"
