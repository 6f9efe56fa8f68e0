"""Data set, model and trainer of a run, with the callbacks and the logger of every run."""

import sys
from typing import Any

import torch
from lightning import Trainer
from lightning.pytorch.callbacks import Callback, LearningRateMonitor, ModelCheckpoint, Timer

from lit_video.errors import UserError
from lit_video.network.cost import count
from lit_video.runs.chosen_checkpoint import BEST
from lit_video.runs.history import History
from lit_video.runs.result import RowFacts
from lit_video.training.callbacks.checkpoints import Checkpoints, RequireFinite
from lit_video.training.callbacks.progress import Progress, ReportBroken
from lit_video.training.callbacks.records import Curve, SavePredictions
from lit_video.training.callbacks.resumption import ExactResumption
from lit_video.training.checkpoint_file import CheckpointFile
from lit_video.training.cli import VideoCLI
from lit_video.training.global_batch import GlobalBatch, accumulation
from lit_video.training.request import Run
from lit_video.training.run_end import keep_handlers
from lit_video.training.wandb_logger import RowLogger, TrackRow
from lit_video.utils.messages import are_shown
from lit_video.utils.stop_signals import StopSignals


class RunCLI(VideoCLI):
    """Data set, model and trainer of one run; the trainer has the run's folder, callbacks and logger."""

    def __init__(self, run: Run, stops: StopSignals, history: History | None = None) -> None:
        self.run = run
        self.history = history  # only in the process that owns the run's folder
        self.run_dir = run.folder
        self.stops = stops
        self.timer = Timer()
        self.global_batch = GlobalBatch()
        self.logger: RowLogger | None = None
        self.file = CheckpointFile()
        self.predictions = SavePredictions(run.folder, f"{run.row.label}, seed {run.seed}")
        super().__init__(run.settings)

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """Build the configured trainer with the callbacks and logger of every run; a user's logger replaces ours."""
        table = self.run.request.table
        data = self.datamodule
        params, macs = count(self.model, data.num_frames, data.test_image_size)
        self.facts = RowFacts(
            table=table.name,
            row=self.run.row.name,
            scale=table.scale,
            seed=self.run.seed,
            scheme=self.model.scheme_name,
            params=params,
            gmacs=macs / 1e9,
            views=data.test_clips * data.test_crops,
        )

        settings, name = self.config_init.trainer, self.run.label
        quick, given = settings.fast_dev_run, as_list(settings.callbacks)
        for callback in given:
            if isinstance(callback, ModelCheckpoint):
                if callback.dirpath is not None:
                    raise UserError("trainer.callbacks: leave out dirpath: checkpoints belong in the run's folder")
                callback.dirpath = str((self.run_dir / BEST).resolve())
        kwargs["default_root_dir"] = str(self.run_dir)
        is_watched = sys.stdout.isatty() and are_shown()
        kwargs["enable_progress_bar"] = settings.enable_progress_bar is not False and is_watched
        kwargs["max_time"] = None  # Lightning's max_time would end a training early as if it were complete
        kwargs["plugins"] = [*as_list(settings.plugins), self.file]
        if settings.logger in (None, True) and not quick:
            commit = self.history.identity.commit if self.history else None
            self.logger = RowLogger(
                self.run_dir, self.facts, commit=commit, config=self.resolved(), row=self.run.row, title=table.title
            )
            kwargs["logger"] = self.logger
        kept: list[Callback] = [Progress(name)]
        if not quick:
            kept = [Curve(self.run_dir), self.predictions, Progress(name, self.run_dir)]
        own = [self.timer, ReportBroken(self.run_dir), self.global_batch, *kept, ExactResumption(), *self._guards()]
        if self.logger:
            own.append(LearningRateMonitor("step"))
        kwargs["callbacks"] = [*given, *own, TrackRow(self.logger, settings.log_every_n_steps)]
        products = self.config.float32_products
        torch.set_float32_matmul_precision({"exact": "highest", "tf32": "high"}[products])
        torch.backends.cudnn.allow_tf32 = products == "tf32"  # for convolutions, PyTorch's default is True
        trainer = super().instantiate_trainer(**kwargs)
        keep_handlers(trainer)
        trainer.accumulate_grad_batches = accumulation(
            self.config.global_batch, trainer.world_size, self.datamodule.batch_size, trainer.accumulate_grad_batches
        )
        return trainer

    def _guards(self) -> list[Callback]:
        """Return the callbacks that can stop training; ``Checkpoints`` is last, to save the new state of all."""
        self.finite = RequireFinite(int(self.config.nan.partition(":")[2] or 0))  # fail, or skip:N
        limit = Timer(self.config_init.trainer.max_time).time_remaining()
        every = self.config.checkpoint_every
        content = self.history.record.plain() if self.history else {}
        checkpoints = Checkpoints(self.run_dir, every, limit, self.stops, self.file, self.finite, content)
        return [self.finite] if self.config_init.trainer.fast_dev_run else [self.finite, checkpoints]


def as_list(given: Any) -> list[Any]:
    """Return a list from a Lightning setting that may be one value, several or none."""
    if isinstance(given, list | tuple):
        return list(given)
    return [given] if given else []
