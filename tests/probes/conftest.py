"""Fixtures of the tests of probes: a data folder of their own, and functions with planted features."""

import pytest
import torch

import lit_video

CLIP = {"num_frames": 8, "image_size": 32, "mean": 0.5, "std": 0.25}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Empty working and data folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def quick_probe(monkeypatch):
    """Probes of one penalty, without a picture: to choose among penalties and to draw takes most of a small probe."""
    monkeypatch.setattr("lit_video.probes.heads.best_strength", lambda loss: 1e-2)
    monkeypatch.setattr("lit_video.api.probe.Probed.figure", None)
    monkeypatch.setattr("lit_video.utils.figures.content_of", lambda *_: b"")


def mean_colours(clips):
    """Return the mean over frames and pixels: blind to order."""
    return clips.mean((2, 3, 4))


def motion(clips):
    """Return by how much better the next frame is explained by a shift to the right than to the left, ``(b, 1)``."""
    grey = clips.mean(1)
    grey = grey - grey.mean((1, 2, 3), keepdim=True)
    before, after = grey[:, :-1], grey[:, 1:]
    right = sum((before * after.roll(-shift, -1)).sum((1, 2, 3)) for shift in (2, 3))
    left = sum((before * after.roll(shift, -1)).sum((1, 2, 3)) for shift in (2, 3))
    return ((right - left) / (grey**2).sum((1, 2, 3)))[:, None]


def probed(model, pairs=8, **arguments):
    """Return what probes of a model tell on few videos."""
    return lit_video.probe(model, pairs=pairs, **{**CLIP, **arguments})


def still(tokens):
    """Return a function whose output is the mean frame's pixels, in small blocks, as tokens if asked for."""

    def read(clips):
        small = torch.nn.functional.adaptive_avg_pool2d(clips.mean(2), 4).flatten(2)
        return small.transpose(1, 2) if tokens else small.flatten(1)

    return read
