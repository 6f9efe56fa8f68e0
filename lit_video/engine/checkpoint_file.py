"""Checkpoints on disk: written atomically in the background, read as tensors only."""

import logging
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from lightning import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO
from lightning_utilities.core.apply_func import apply_to_collection
from torch import Tensor

from lit_video.errors import RunFailed
from lit_video.runs.chosen_checkpoint import BEST, LAST
from lit_video.utils.files import new_part
from lit_video.utils.text import first_line
from lit_video.weights.integrity import refuse_damage

_logger = logging.getLogger(__name__)

RUN_KEY = "lit_video_run"  # key of the run's record in a checkpoint


class CheckpointFile(TorchCheckpointIO):
    """Lightning's checkpoints, copied to memory and written in the background.

    Training waits for the copy, and for the previous checkpoint if it is still being written; :attr:`waited` is the
    total time in seconds. docs/architecture.md says why Lightning's own writers are not used.
    """

    def __init__(self) -> None:
        self.waited = 0.0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._writing: Future[None] | None = None

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Copy the checkpoint and begin to write it; raise :class:`OSError` if writing the previous one failed."""
        start = time.monotonic()
        self.flush()
        self._writing = self._thread.submit(write_checkpoint, copied(checkpoint), Path(path))
        self.waited += time.monotonic() - start

    def load_checkpoint(self, path: Any, map_location: Any = "cpu", weights_only: bool | None = True) -> dict[str, Any]:
        """Read a checkpoint's tensors and plain values; refuse a file with anything else."""
        self.flush()
        return torch.load(path, map_location="cpu", weights_only=True)

    def flush(self) -> None:
        """Wait until the last checkpoint is on the disk; raise :class:`OSError` if it could not be written."""
        writing = self._writing
        self._writing = None
        if writing:
            writing.result()

    teardown = flush  # Lightning calls it after a fit and a test


def write_checkpoint(content: dict[str, Any], path: Path) -> None:
    """Write a checkpoint atomically; an old file stays until the new one is complete."""
    part = path.with_name(f".{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)  # ModelCheckpoint's subfolder may be missing
    try:
        with new_part(part) as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)

    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def peek(path: Path) -> dict[str, Any]:
    """Read a checkpoint's tensors, memory-mapped, and plain values."""
    return torch.load(path, map_location="cpu", weights_only=True, mmap=True)


def damage(path: Path) -> str:
    """Read a whole checkpoint; return its damage in one line, empty if it is intact."""
    try:
        refuse_damage(path)
        content = peek(path)
        content["state_dict"], content[RUN_KEY]
    except Exception as error:  # a damaged pickle can raise anything
        return first_line(error)[:80]
    return ""


def usable_checkpoint(run_dir: Path, owner: bool) -> Path | None:
    """Return a run's checkpoint, ``None`` if missing or damaged; only the ``owner`` process renames a damaged file."""
    path = run_dir / LAST
    if not path.exists():
        return None
    reason = damage(path)
    if owner and not reason:
        _logger.info(f"going on from {path}")
    if owner and reason:
        path.replace(path.with_name("last.damaged.ckpt"))
        _logger.info(f"{path}: damaged ({reason}); renamed to last.damaged.ckpt, training starts over")
    return None if reason else path


def remove_later(run_dir: Path, checkpoint: Path | None) -> None:
    """Remove ModelCheckpoint's files that were written after the checkpoint from which a run resumes.

    The resumed run writes them again; if the old ones were still there, Lightning would give the new ones other names.
    Without a checkpoint, the run starts over, and all files are removed.
    """
    folder = run_dir / BEST
    for part in folder.rglob(".*.part"):
        part.unlink()

    step = -1
    saved_before = set[str]()  # names of files that existed when the checkpoint was saved
    if checkpoint:
        content = peek(checkpoint)
        step = content["global_step"]
        for state in content["callbacks"].values():
            if "best_k_models" in state:
                paths = [*state["best_k_models"], state["best_model_path"], state["last_model_path"]]
                saved_before.update(path.rpartition(f"/{BEST}/")[2] for path in paths)

    for file in folder.rglob("*.ckpt"):
        try:
            is_later = peek(file)["global_step"] >= step
        except Exception:  # a damaged file can raise anything
            is_later = True
        if is_later and file.relative_to(folder).as_posix() not in saved_before:
            file.unlink()


def best_checkpoint(trainer: Trainer) -> Path | None:
    """Return the checkpoint with the best monitored metric, if any; raise :class:`RunFailed` if its file is gone."""
    for chosen in trainer.checkpoint_callbacks:
        if isinstance(chosen, ModelCheckpoint) and chosen.monitor:
            break
    else:
        return None
    if not chosen.best_model_path:
        raise RunFailed(f"no checkpoint by {chosen.monitor}, since no validation ran (trainer.check_val_every_n_epoch)")
    path = Path(chosen.best_model_path)
    if not path.is_file():
        raise RunFailed(f"{path}, the checkpoint of the best {chosen.monitor}, is gone")
    return path


def copied(content: Any) -> Any:
    """Copy nested dictionaries, lists and tuples, with every tensor on the CPU."""
    return apply_to_collection(content, Tensor, lambda tensor: tensor.detach().to("cpu", copy=True))
