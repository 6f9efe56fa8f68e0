"""Test that strategies of two processes give the same digits: sharded parameters, processes spawned after a fit."""

import copy
import subprocess
import sys

import pytest
import torch
from lightning import Trainer

from lit_video.datamodules import VideoFolder
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from tests.checkpoints import QUIET
from tests.conftest import ROOT
from tests.embedded import four_skills

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Folder of 16 training, 8 validation and 8 test videos."""
    data = four_skills(tmp_path_factory.mktemp("strategies"))
    data.prepare_data()
    return str(data.root)


def test_sharded_parameters_train_as_whole_copies(videos, tmp_path):
    command = [sys.executable, "-m", "tests.training.sharded_script", videos, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    (weights, *metrics), (sharded, *others) = (torch.load(tmp_path / f"{name}.pt") for name in ("ddp", "sharded"))
    assert metrics == others
    assert weights.keys() == sharded.keys()
    assert all(torch.equal(weights[key], sharded[key]) for key in weights)


def trainer(strategy, **settings):
    return Trainer(accelerator="cpu", max_epochs=1, num_sanity_val_steps=0, strategy=strategy, **QUIET, **settings)


def test_processes_spawned_after_a_fit_train_and_test_as_others(videos):
    torch.manual_seed(0)
    data = VideoFolder(videos, num_frames=4, image_size=16, batch_size=2, num_workers=0, test_clips=2)
    optimization = Optimization("adamw", lr=1e-3)
    model = XViT(data.num_classes, 4, 16, size=ViTSize(16, 1, 2), patch_size=8, dropout=0.0, optimization=optimization)
    trainer("auto", devices=1).fit(model, data)
    before = copy.deepcopy(model.state_dict())

    results = []
    for strategy in ("ddp_fork", "ddp_spawn"):
        model.load_state_dict(before)
        pair = trainer(strategy, devices=2)
        pair.fit(model, data)
        (tested,) = pair.test(model, data, verbose=False)
        results.append((copy.deepcopy(model.state_dict()), dict(pair.callback_metrics), tested))

    (weights, logged, tested), (spawned, others, again) = results
    assert any(not torch.equal(weights[key], before[key]) for key in before)
    assert all(torch.equal(weights[key], spawned[key]) for key in weights)
    assert (logged, tested) == (others, again)
    (alone,) = trainer("auto", devices=1).test(model, data, verbose=False)
    assert tested == pytest.approx(alone, abs=1e-5)
