"""The bar of a terminal says how fast a run is and how long it takes."""

from types import SimpleNamespace
from typing import ClassVar

import torch
from lightning.pytorch.callbacks import RichProgressBar

from lit_video.tables.status import read_status
from lit_video.training.callbacks.progress import Pace, ProgressBar, ReportStatus


def test_the_bar_has_speed_and_time_left(monkeypatch):
    clock = iter((0.0, 10.0))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    trainer = SimpleNamespace(
        training=True,
        loggers=[],
        progress_bar_metrics={},
        callback_metrics={"train/loss": torch.tensor(0.5)},
        global_step=0,
        estimated_stepping_batches=100,
        world_size=2,
        accumulate_grad_batches=1,
    )
    bar = ProgressBar()
    assert bar.get_metrics(trainer, torch.nn.Identity()) == {"train/loss": 0.5}, "before the first step"
    bar._pace, bar._clips = Pace(trainer), 16
    trainer.global_step = 20
    shown = bar.get_metrics(trainer, torch.nn.Identity())
    assert shown == {"train/loss": 0.5, "clips/s": "64", "left": "0:40"}


class Device:
    """Counts how often its numbers are read."""

    reads = 0
    progress_bar_metrics: ClassVar = {}

    @property
    def callback_metrics(self):
        self.reads += 1
        return {"train/loss": torch.tensor(float(self.reads))}


def test_the_bar_reads_the_devices_numbers_now_and_then(monkeypatch):
    times = [0.0, 0.1, 0.2, 0.7, 0.8, 1.3]
    monkeypatch.setattr("time.monotonic", iter(times).__next__)
    monkeypatch.setattr(
        RichProgressBar, "on_train_batch_end", lambda bar, *step: shown.append(bar.get_metrics(*step[:2]))
    )
    shown, device, bar = [], Device(), ProgressBar()
    device.loggers = []
    for _ in times:
        bar.on_train_batch_end(device, torch.nn.Identity(), None, {"clip": [0]}, 0)
    assert [metrics["train/loss"] for metrics in shown] == [1, 1, 1, 2, 2, 3]
    assert bar.get_metrics(device, torch.nn.Identity()) == {"train/loss": 4}, "at the end of an epoch"


def test_the_status_has_the_share_that_waits_for_data(tmp_path):
    trainer = SimpleNamespace(
        global_step=0, estimated_stepping_batches=100, world_size=1, accumulate_grad_batches=1, is_global_zero=True
    )
    report = ReportStatus(tmp_path, data_wait=lambda: 12.5, every=0.0)
    report.on_train_start(trainer, torch.nn.Identity())
    trainer.global_step = 20
    report.on_train_batch_end(trainer, torch.nn.Identity(), None, {"clip": [0, 1]}, 19)
    status = read_status(tmp_path)
    assert (status.step, status.data_wait) == (20, 12.5)
    assert status.clips_per_second > 0
