"""The checkpoint of the best validation, of a run with Lightning's ModelCheckpoint."""

from collections.abc import Iterable
from pathlib import Path

from lightning import Trainer
from lightning.pytorch.callbacks import Callback, ModelCheckpoint

from lit_video.errors import RunFailed, UserError

FOLDER = "best"  # in the run's


def keep_in_run(callbacks: Iterable[Callback], run_dir: Path) -> None:
    """Let ModelCheckpoints save in the run's folder.

    Raises:
        UserError: one names another folder.
    """
    for callback in callbacks:
        if isinstance(callback, ModelCheckpoint):
            if callback.dirpath is not None:
                raise UserError("trainer.callbacks: leave out dirpath: checkpoints belong in the folder of their run")
            callback.dirpath = str((run_dir / FOLDER).resolve())


def best_checkpoint(trainer: Trainer) -> Path | None:
    """The one to test; ``None`` if no callback monitors a metric. The first counts if there are several.

    Raises:
        RunFailed: nothing was validated, or the file is gone.
    """
    monitors = [callback for callback in trainer.checkpoint_callbacks if isinstance(callback, ModelCheckpoint)]
    chosen = next((callback for callback in monitors if callback.monitor), None)
    if chosen is None:
        return None
    if not chosen.best_model_path:
        raise RunFailed(f"no checkpoint by {chosen.monitor}: no validation (trainer.check_val_every_n_epoch)")
    path = Path(chosen.best_model_path)
    if not path.is_file():
        raise RunFailed(f"{path}, the checkpoint of the best {chosen.monitor}, is gone")
    return path
