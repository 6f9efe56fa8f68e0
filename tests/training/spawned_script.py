"""Train and test a model on two processes, forked and spawned, after a fit in this one.

    python -m tests.training.spawned_script VIDEOS OUT

``OUT/spawned.pt`` gets the weights before, and for each way of starting weights, logged metrics and those of a test.
"""

import copy
import sys
from pathlib import Path

import torch
from lightning import Trainer

from lit_video.datamodules import VideoFolder
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from tests.checkpoints import QUIET


def trainer(strategy, **settings):
    """Return a trainer of one epoch."""
    return Trainer(accelerator="cpu", max_epochs=1, num_sanity_val_steps=0, strategy=strategy, **QUIET, **settings)


def trained(videos):
    """Fit in this process, then in two forked and in two spawned ones; test each, and the last model here."""
    torch.manual_seed(0)
    data = VideoFolder(videos, num_frames=4, image_size=16, batch_size=2, num_workers=0, test_clips=2)
    optimization = Optimization("adamw", lr=1e-3)
    model = XViT(data.num_classes, 4, 16, size=ViTSize(16, 1, 2), patch_size=8, dropout=0.0, optimization=optimization)
    trainer("auto", devices=1).fit(model, data)
    before = copy.deepcopy(model.state_dict())

    results = {}
    for strategy in ("ddp_fork", "ddp_spawn"):
        model.load_state_dict(before)
        pair = trainer(strategy, devices=2)
        pair.fit(model, data)
        (tested,) = pair.test(model, data, verbose=False)
        results[strategy] = (copy.deepcopy(model.state_dict()), dict(pair.callback_metrics), tested)
    (alone,) = trainer("auto", devices=1).test(model, data, verbose=False)
    return {"before": before, "alone": alone} | results


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.save(trained(sys.argv[1]), Path(sys.argv[2]) / "spawned.pt")
