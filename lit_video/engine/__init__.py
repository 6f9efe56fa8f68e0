"""Parts of a training for any Lightning Trainer: callbacks, checkpoint files, division of a batch, W&B."""
