"""Checkpoints: files written in the background, and the callback that saves them and stops a run on request."""

import logging
import os
import re
import time
from collections.abc import Iterable, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint, ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO
from lightning_utilities.core.apply_func import apply_to_collection
from torch import Tensor
from torch.utils.data import IterableDataset

from lit_video.engine.finite import RequireFinite
from lit_video.engine.resumption import validation_follows
from lit_video.errors import RunFailed, UserError
from lit_video.modules import VideoClassifier
from lit_video.modules.evaluation import loaders
from lit_video.modules.hooks import logged_name
from lit_video.modules.metrics import metric_values
from lit_video.runs.chosen_checkpoint import BEST, LAST
from lit_video.utils.files import new_part
from lit_video.utils.processes import AGAIN, PREEMPTED, STATUS, StopSignals, signal_in_words
from lit_video.utils.text import first_line
from lit_video.weights.integrity import refuse_damage

_logger = logging.getLogger(__name__)

RUN_KEY = "lit_video_run"  # key of the run's record in a checkpoint
# metrics of this package's models: pattern of the name, with Lightning's suffix if there are several loaders
LOWER = re.compile(r"(train|val|test)/loss(/dataloader_idx_\d+)?")
HIGHER = re.compile(r"(train|val|test)/(\S+_)?(top\d+|mean_average_precision)(/dataloader_idx_\d+)?")
EPOCHS_MEAN = "train/clip_top1"
OURS = ("lightning.", "lit_video.")  # packages whose callbacks and models log nothing of a user's own


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


def refuse_wrong_mode(watchers: Iterable[object]) -> None:
    """Refuse callbacks that would choose the worst value of one of our metrics, or that monitor an epoch's mean."""
    for watcher in watchers:
        monitor = getattr(watcher, "monitor", None)
        mode = getattr(watcher, "mode", None)
        if not isinstance(monitor, str) or mode is None:
            continue

        _refuse(f"trainer.callbacks: {type(watcher).__name__}", monitor, mode)
        if monitor == EPOCHS_MEAN:
            advice = "a run that resumes knows the mean of its own steps only; monitor val/clip_top1"
            raise UserError(f"trainer.callbacks: {type(watcher).__name__} monitors {monitor}: {advice}")


def refuse_unknown_values(watchers: Iterable[object], model: VideoClassifier) -> None:
    """Refuse callbacks that monitor a value of validation which the model's metric does not give.

    Lightning would say so after the first epoch. A user's own callback or model may log the value itself.
    """
    kinds = [*map(type, watchers), type(model)]
    if not model.num_classes or any(not kind.__module__.startswith(OURS) for kind in kinds):
        return

    values = metric_values(model.val_accuracy, model.num_classes, several_labels=model.several_labels)
    logged = {logged_name("val", value) for value in values}
    for watcher in watchers:
        monitor = getattr(watcher, "monitor", None)
        if not isinstance(monitor, str) or not monitor.startswith("val/"):
            continue
        if re.sub(r"/dataloader_idx_\d+$", "", monitor) not in logged:
            metric = type(model.val_accuracy).__name__
            raise UserError(
                f"trainer.callbacks: {type(watcher).__name__} monitors {monitor}, but the metric {metric} gives "
                f"{', '.join(sorted(logged))}"
            )


def refuse_wrong_schedules(trainer: Trainer) -> None:
    """Refuse schedules, such as ReduceLROnPlateau, that would take the worst value of our metrics for the best."""
    for config in trainer.lr_scheduler_configs:
        mode = getattr(config.scheduler, "mode", None)
        if config.reduce_on_plateau and isinstance(config.monitor, str) and mode is not None:
            _refuse(f"configure_optimizers: {type(config.scheduler).__name__}", config.monitor, mode)


def _refuse(who: str, monitor: str, mode: str) -> None:
    right = ""
    if LOWER.fullmatch(monitor):
        right = "min"
    elif HIGHER.fullmatch(monitor):
        right = "max"
    if right and mode != right:
        best = {"min": "lowest", "max": "highest"}[right]
        raise UserError(f"{who}: mode is {mode}, but the best {monitor} is the {best}: set mode to {right}")


class Stopped(Exception):
    """End of training at a checkpoint, on all processes; ``reason`` is ``max_time`` or a signal's name."""

    def __init__(self, reason: str, step: int, steps: int) -> None:
        stop = signal_in_words(Signals[reason]) if reason in Signals.__members__ else reason
        super().__init__(f"stopped by {stop} at step {step} of {steps}; {AGAIN}")
        self.step = step
        self.steps = steps
        self.status = STATUS[Signals[reason]] if reason in Signals.__members__ else PREEMPTED


# actions that a process may request after a step, by rising priority; all processes take the highest one requested
_NOTHING = ""
SAVE = "save"
TIME_OVER = "max_time"
NOT_FINITE = "not finite"
ACTIONS = (_NOTHING, SAVE, TIME_OVER, "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGINT", "SIGHUP", NOT_FINITE)


@dataclass(eq=False)
class Checkpoints(Checkpoint):
    """Callback that writes ``last.ckpt``: at intervals, before validation, at the end, on a signal."""

    run_dir: Path
    every: float  # seconds
    max_time: float | None  # seconds of training in this process
    stops: StopSignals
    file: CheckpointFile
    finite: RequireFinite
    record: dict[str, Any]  # identity and changes of the run

    def __post_init__(self) -> None:
        self.path = self.run_dir / LAST
        self._group: Any = None
        self._shared: list[int] = []
        self._start = self._saved = time.monotonic()

    def state_dict(self) -> dict[str, Any]:
        """Return the seconds that training has waited for checkpoints."""
        return {"waited": self.file.waited}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore these seconds."""
        self.file.waited = state_dict["waited"]

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Add the run's identity and changes, which are checked when the run resumes."""
        checkpoint[RUN_KEY] = self.record

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse schedules that monitor in the wrong mode; from now on, signals wait for the end of a step."""
        refuse_wrong_schedules(trainer)
        if trainer.world_size > 1:
            self._group = dist.new_group(backend="gloo")
        self.stops.waits = True
        self._start = self._saved = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save or stop, if due, after a complete optimizer step."""
        if (batch_idx + 1) % trainer.accumulate_grad_batches and not trainer.is_last_batch:
            return
        action = self._agree(self._wanted_action(trainer))
        if action == _NOTHING:
            return
        if action == NOT_FINITE:
            self.file.flush()
            self.finite.fail()
        # no checkpoint of the step that ends training, perhaps in the middle of an epoch: a run that resumed from it
        # would leave out the last validation
        if trainer.should_stop or trainer.global_step == trainer.max_steps:
            return

        trainer.save_checkpoint(self.path)
        self._saved = time.monotonic()
        if action != SAVE:
            self._stop(trainer, action)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Agree on the batches that all processes have, because a user's own loaders may give them unequal numbers."""
        if self.stops.waits and self._group is not None:
            counts = torch.tensor(certain_batches(loaders(pl_module), trainer.num_val_batches))
            self._shared = self._reduce(counts, dist.ReduceOp.MIN).tolist()

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Stop during validation if requested; the checkpoint was saved before validation.

        Processes ask each other only in batches that all have; after the others, the next training step stops.
        """
        if not self.stops.waits:
            return
        if self._group is not None and batch_idx >= self._shared[dataloader_idx]:
            return
        action = self._agree(self._wanted_action(trainer))
        if action not in (_NOTHING, SAVE, NOT_FINITE):
            self._stop(trainer, action)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the final checkpoint; from now on signals end the process at once."""
        if self._agree(self._wanted_action(trainer)) == NOT_FINITE:
            self.finite.fail()
        trainer.save_checkpoint(self.path)
        self._flush(trainer)
        self.stops.waits = False
        if self.stops.received is not None:
            self.stops.end(self.stops.received)

    def _stop(self, trainer: Trainer, reason: str) -> NoReturn:
        self._flush(trainer)
        raise Stopped(reason, trainer.global_step, int(trainer.estimated_stepping_batches))

    def _flush(self, trainer: Trainer) -> None:
        """Wait until rank 0 has written the checkpoint to disk."""
        self.file.flush()
        trainer.strategy.barrier()

    def _wanted_action(self, trainer: Trainer) -> str:
        """Return the action that this process requests."""
        now = time.monotonic()
        if self.finite.message:
            return NOT_FINITE
        if self.stops.received is not None:
            return self.stops.received.name
        if self.max_time is not None and now - self._start >= self.max_time:
            return TIME_OVER
        if now - self._saved >= self.every:
            return SAVE

        # a checkpoint cannot be made within a validation or at the step that ends the training
        is_last_chance = validation_follows(trainer) or trainer.global_step + 1 == trainer.max_steps
        return SAVE if is_last_chance else _NOTHING

    def _agree(self, action: str) -> str:
        """Return the highest-priority action in any process; communicate on the CPU, without waiting for devices."""
        if self._group is None:
            return action
        code = torch.tensor(ACTIONS.index(action))
        return ACTIONS[int(self._reduce(code, dist.ReduceOp.MAX))]

    def _reduce(self, value: Tensor, operation: Any) -> Tensor:
        """Return the largest or least values of all processes, in place."""
        dist.all_reduce(value, operation, group=self._group)
        return value


def certain_batches(loaders: Sequence[Any], most: Sequence[float]) -> list[int]:
    """Return the batches that each loader surely gives; 0 if it streams, because then its length is a guess or unknown.

    ``most`` are the batches of each loader that the trainer takes at most.
    """
    streams = [
        not isinstance(loader, Sized) or isinstance(getattr(loader, "dataset", None), IterableDataset)
        for loader in loaders
    ]
    return [0 if stream else int(count) for stream, count in zip(streams, most, strict=True)]
