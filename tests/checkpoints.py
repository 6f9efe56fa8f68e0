"""Checkpoints made in Python, without the command line."""

import torch
from lightning import Trainer

from lit_video.datamodules.folder import VideoList
from lit_video.utils.class_paths import class_path
from lit_video.video.settings import stored_settings
from lit_video.weights.reading import CHECKPOINT_KEY

QUIET = dict(logger=False, enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)


def trained(model, data, path, **limits):
    """Train a model on the CPU, for one step by default, and return the path of its checkpoint."""
    trainer = Trainer(**limits or {"max_steps": 1}, accelerator="cpu", **QUIET)
    trainer.fit(model, data)
    trainer.save_checkpoint(path)
    return path


def untrained(model, path, class_names=None, **data):
    """Write the checkpoint of a model with every weight random, each time alike; ``data`` are settings of its clips."""
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.3, generator=draws)
    content = {"state_dict": model.state_dict(), "hyper_parameters": dict(model.hparams)}
    if data:
        settings = {"model": class_path(type(model)), "data": stored_settings(VideoList([], **data))}
        content[CHECKPOINT_KEY] = settings | {"class_names": class_names}
    torch.save(content, path)
    return path
