"""Lines and state of a training: how far it is, how fast, how long it takes."""

from types import SimpleNamespace

import pytest
import torch

from lit_video.runs.status import read_status
from lit_video.training.callbacks.progress import Progress


def test_lines_and_state_have_speed_time_left_and_the_share_that_waits_for_data(tmp_path, monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    trainer = SimpleNamespace(
        global_step=0, estimated_stepping_batches=100, world_size=2, accumulate_grad_batches=1, is_global_zero=True
    )
    trainer.callback_metrics = {"train/loss": torch.tensor(0.5)}
    progress, module, batch = Progress("row seed 0", tmp_path), torch.nn.Identity(), {"clip": [0] * 16}
    progress.on_train_start(trainer, module)
    for seconds, step in ((0.5, 1), (15.0, 10), (30.0, 20)):
        clock[0], trainer.global_step = seconds, step
        progress.on_train_batch_end(trainer, module, None, batch, step)
        assert read_status(tmp_path).step == (0 if step == 1 else step), "of this second"
        trainer.callback_metrics["train/data_wait"] = torch.tensor(12.5)
    assert capsys.readouterr().out == (
        "row seed 0: step 20 of 100, 0.5 loss, 21 clips/s, 2 min left, 12 % of the time waits for videos\n"
    )
    status = read_status(tmp_path)
    assert (status.clips_per_second, status.seconds_left, status.data_wait) == (pytest.approx(64 / 3), 120, 12.5)
