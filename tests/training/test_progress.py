"""The bar of a terminal says how fast a run is and how long it takes."""

from types import SimpleNamespace

import torch

from lit_video.training.callbacks.progress import Pace, ProgressBar


def test_the_bar_has_speed_and_time_left(monkeypatch):
    clock = iter((0.0, 10.0))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    trainer = SimpleNamespace(
        training=True,
        loggers=[],
        progress_bar_metrics={"train/loss": 0.5},
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
