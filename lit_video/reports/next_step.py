"""Next step after the test of a model on the user's own videos."""

import shlex
from pathlib import Path

import numpy as np

from lit_video.runs.predictions import Predictions


def is_of_use(predictions: Predictions | None) -> bool:
    """Return whether a model is right more often than always answering the most frequent class; true if untested."""
    if predictions is None:
        return True
    return all(
        task.hits().mean() > np.bincount(task.target).max() / len(task.target) for task in predictions.tasks.values()
    )


def next_step(run: Path, predictions: Predictions | None) -> str:
    """Say what to do next: use the model of a run's folder, or train a better one."""
    here = Path.cwd()
    folder = run.relative_to(here) if run.is_relative_to(here) else run
    if is_of_use(predictions):
        return f"Next, name the class of a video: lit_video predict --ckpt {shlex.quote(str(folder))} VIDEO"
    useless = "This model is of no use yet: it is no better than one answer for all videos."
    more = "(--minutes N and another --output), more videos, or weights to start from (--weights NAME)"
    return f"{useless} Next, give it more time {more}"
