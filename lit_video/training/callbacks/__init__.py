"""Callbacks of a run: progress, checkpoints, curves, predictions, checks."""
