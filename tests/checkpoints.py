"""Checkpoints that are made in Python, without the command line."""

from lightning import Trainer

QUIET = dict(logger=False, enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)


def trained(model, data, path, **limits):
    """Train a model on the CPU, for one step unless told otherwise; gives its checkpoint."""
    trainer = Trainer(**limits or {"max_steps": 1}, accelerator="cpu", **QUIET)
    trainer.fit(model, data)
    trainer.save_checkpoint(path)
    return path
