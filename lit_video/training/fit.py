"""Second step of a run: train it, from its last checkpoint if there is one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from lit_video.engine.checkpoints import best_checkpoint, peek
from lit_video.errors import RunFailed
from lit_video.runs.chosen_checkpoint import LAST
from lit_video.training.trainer import Training


@contextmanager
def compiled(network: nn.Module, enabled: bool) -> Iterator[None]:
    """Compile a network in place for the time of a block; parameter names and random draws stay the same.

    Copies of the network are not compiled: the code of a bound method would compute with this network's weights.
    """
    if enabled:
        network.compile(options={"fallback_random": True})
    try:
        yield
    finally:
        network._compiled_call_impl = None  # compiled code would ignore hooks added later


@dataclass(frozen=True)
class Trained:
    """Facts on a training at its end, taken before the test restores the state of an earlier checkpoint."""

    checkpoint: Path  # file to test
    seconds: float  # time of training
    checkpoint_seconds: float  # part of it spent waiting for checkpoints
    skipped_steps: int  # updates that were left out because the loss was not finite


def fit_model(training: Training, checkpoint: Path | None) -> Trained | None:
    """Train from a checkpoint, if any; ``None`` for a trial of a few batches (``fast_dev_run``), which has no result.

    Raises:
        RunFailed: the last checkpoint is not of the last step.
    """
    training.trainer.fit(training.model, training.datamodule, ckpt_path=checkpoint, weights_only=True)
    if training.config.trainer.fast_dev_run:
        training.trainer.test(training.model, training.datamodule, verbose=False)
        return None

    last = training.run_dir / LAST
    step = peek(last)["global_step"]
    if step != training.trainer.global_step:
        raise RunFailed(f"{last} is of step {step}, training ended at step {training.trainer.global_step}: no result")
    return Trained(
        checkpoint=best_checkpoint(training.trainer) or last,
        seconds=training.timer.time_elapsed("train"),
        checkpoint_seconds=training.file.waited,
        skipped_steps=training.finite.skipped,
    )
