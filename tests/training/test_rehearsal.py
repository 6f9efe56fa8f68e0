"""Test that a rehearsal makes a run's own steps on real videos, and says how long each part takes."""

from dataclasses import astuple

import numpy as np
import pytest
import torch

from lit_video.datamodules import base, drawing
from lit_video.modules.muon import StackedMuon
from lit_video.network.transformer import VideoTransformer
from lit_video.training import rehearsal
from lit_video.training.rehearsal import MOST_TIMED, _seconds_of_imports, rehearse
from lit_video.video.augmentation import TrainingView


@pytest.fixture
def settings(tmp_path):
    """Settings of an experiment on eight videos, two batches of them."""
    lines = ["path,label"]
    for number in range(8):
        frames = np.full((8, 16, 16, 3), 30 * number, np.uint8)
        drawing.encode(tmp_path / f"{number}.mp4", frames, 10)
        lines.append(f"{number}.mp4,{('walk', 'sit')[number % 2]}")
    (tmp_path / "videos.csv").write_text("\n".join(lines))
    data = {"root": str(tmp_path), "train": "videos.csv", "batch_size": 4, "num_workers": 0, "keep_gb": 0.1}
    data |= {"num_frames": 4, "image_size": 16, "test_crops": 1}
    model = {"size": {"embed_dim": 16, "depth": 2, "num_heads": 2}, "patch_size": 8, "weights": "hub:not-there"}
    model["optimization"] = {"optimizer": "muon"}
    return {
        "trainer": {"accelerator": "cpu", "devices": 1, "gradient_clip_val": 1.0},
        "data": {"class_path": "VideoCSV", "init_args": data},
        "model": {"class_path": "XViT", "init_args": model},
    }


def counted(calls, name, function):
    """Return a function that counts its calls."""

    def call(*arguments, **named):
        calls[name] = calls.get(name, 0) + 1
        return function(*arguments, **named)

    return call


@pytest.mark.parametrize("keep_gb", [0.1, 0.0])
def test_steps_have_the_runs_own_videos_views_and_optimizer(settings, keep_gb, monkeypatch, tmp_path):
    settings["data"]["init_args"]["keep_gb"] = keep_gb
    calls = {}
    monkeypatch.setattr(base, "decode", counted(calls, "decode", base.decode))
    monkeypatch.setattr(TrainingView, "__call__", counted(calls, "view", TrainingView.__call__))
    monkeypatch.setattr(StackedMuon, "step", counted(calls, "step", StackedMuon.step))
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", counted(calls, "clip", torch.nn.utils.clip_grad_norm_))
    monkeypatch.setattr(rehearsal, "ENOUGH_SECONDS", float("inf"))  # a busy machine would time fewer steps
    before = sorted(tmp_path.rglob("*"))
    threads = torch.get_num_threads()
    monkeypatch.chdir(tmp_path)

    pace = rehearse(settings, {"model.window": 1}, at_once=1, alone=True)

    steps = 2 + MOST_TIMED  # an epoch, and the timed steps
    assert (calls["step"], calls["clip"], calls["view"]) == (steps, steps, 4 * steps)
    assert (calls["decode"] == 8) == bool(keep_gb)
    assert (pace.first_read > 0) <= bool(keep_gb)
    assert min(pace.start, pace.step, pace.view) > 0 and min(astuple(pace)) >= 0
    assert sorted(tmp_path.rglob("*")) == before and torch.get_num_threads() == threads


def test_a_frozen_backbone_is_left_out_and_all_else_is_timed(settings, monkeypatch, tmp_path):
    data, model = settings["data"]["init_args"], settings["model"]["init_args"]
    data |= {"features": str(tmp_path / "features"), "val": "videos.csv"}
    model |= {"freeze": "backbone", "probe": "waves", "optimization": {"optimizer": "logistic"}}
    calls = {}
    monkeypatch.setattr(VideoTransformer, "forward_tokens", counted(calls, "pass", VideoTransformer.forward_tokens))

    pace = rehearse(settings, {}, at_once=1, alone=True)
    assert calls["pass"] == 1, "one clip, for the shape of its features"
    assert min(pace.start, pace.step, pace.first_read, pace.view, pace.stage) > 0
    assert not (tmp_path / "features").exists()


def test_timed_steps_end_once_they_took_enough_seconds(settings, monkeypatch):
    calls = {}
    monkeypatch.setattr(StackedMuon, "step", counted(calls, "step", StackedMuon.step))
    monkeypatch.setattr(rehearsal, "LEAST_TIMED", 3)
    rehearse(settings, {}, at_once=1, alone=True)
    assert 2 + 3 <= calls["step"] < 2 + MOST_TIMED, "three timed steps, and no more epochs than they need"


@pytest.mark.slow  # imports take seconds; other tests take a number for them
def test_imports_of_a_run_are_timed_in_a_process_that_makes_them():
    seconds_of_a_failure = 0.2
    assert _seconds_of_imports() > seconds_of_a_failure


def test_a_process_of_its_own_and_fewer_cores_are_counted(settings, monkeypatch):
    threads = []
    make = rehearsal._trainer
    monkeypatch.setattr(rehearsal, "_trainer", lambda *parts: threads.append(torch.get_num_threads()) or make(*parts))
    monkeypatch.setattr(rehearsal, "_seconds_of_imports", lambda: 1000.0)
    monkeypatch.setattr(rehearsal, "usable_cores", lambda: 6)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert rehearse(settings, {}, at_once=2, alone=False).start > 1000
    assert threads == [3]
