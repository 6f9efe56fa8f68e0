"""Data set, model and trainer of a run, with the callbacks and the logger of every run."""

import sys
from typing import Any

import torch
from lightning import Trainer
from lightning.pytorch.callbacks import Callback, ModelCheckpoint, Timer

from lit_video.engine.checkpoints import CheckpointFile, Checkpoints
from lit_video.engine.curve import Curve
from lit_video.engine.finite import RequireFinite
from lit_video.engine.frame_features import FrameFeatures
from lit_video.engine.global_batch import GlobalBatch, accumulation
from lit_video.engine.predictions import SavePredictions
from lit_video.engine.progress import Progress, ReportBroken
from lit_video.engine.resumption import ExactResumption
from lit_video.engine.wandb_logger import RowLogger, TrackRow
from lit_video.errors import UserError
from lit_video.experiment.cli import user_errors
from lit_video.experiment.spec import Spec
from lit_video.network.multiply_adds import count_params_and_macs
from lit_video.runs.chosen_checkpoint import BEST
from lit_video.runs.history import History
from lit_video.runs.record import RowFacts
from lit_video.settings.nested import as_list
from lit_video.training.run_end import keep_handlers
from lit_video.utils.messages import are_shown
from lit_video.utils.processes import StopSignals


class Training:
    """Data set, model and trainer of one run; the trainer has the run's folder, callbacks and logger."""

    def __init__(self, spec: Spec, stops: StopSignals, history: History | None = None) -> None:
        run = spec.run
        self.spec = spec
        self.run = run
        self.history = history  # only in the process that owns the run's folder
        self.record = history.record.plain() if history else {}  # record of the run, in its checkpoints
        self.run_dir = run.folder
        self.stops = stops
        self.timer = Timer()
        self.global_batch = GlobalBatch()
        self.logger: RowLogger | None = None
        self.file = CheckpointFile()
        self.predictions = SavePredictions(run.folder, f"{run.row.label}, seed {run.seed}")
        self.frame_features = FrameFeatures()

        built = spec.build()
        self.datamodule = built.datamodule
        self.model = built.model
        self.config = built.config
        self._settings = built.objects.trainer
        with user_errors(run.origin):
            params, macs = count_params_and_macs(
                self.model, self.datamodule.num_frames, self.datamodule.test_image_size
            )
            self.facts = RowFacts(
                table=run.request.table.name,
                row=run.row.name,
                scale=run.request.table.scale,
                seed=run.seed,
                scheme=self.model.scheme_name,
                params=params,
                gmacs=macs / 1e9,
                views=self.datamodule.test_clips * self.datamodule.test_crops,
            )
            self.trainer = self._make_trainer()

    def note(self, history: History) -> None:
        """Note the history of the run before it trains, so that its checkpoints hold it."""
        self.record.update(history.record.plain())

    def _make_trainer(self) -> Trainer:
        """Build the configured trainer with the callbacks and logger of every run; a user's logger replaces ours."""
        settings = self._settings
        callbacks = as_list(settings.callbacks)
        self._place_checkpoints(callbacks)

        changed: dict[str, Any] = {}
        if settings.logger in (None, True) and not settings.fast_dev_run:
            self.logger = RowLogger(
                self.run_dir,
                self.facts,
                commit=self.history.identity.commit if self.history else None,
                config=self.spec.settings,
                row=self.run.row,
                title=self.run.request.table.title,
            )
            changed["logger"] = self.logger

        is_watched = sys.stdout.isatty() and are_shown()
        changed["default_root_dir"] = str(self.run_dir)
        changed["enable_progress_bar"] = settings.enable_progress_bar is not False and is_watched
        changed["max_time"] = None  # Lightning's max_time would end a training early as if it were complete
        changed["plugins"] = [*as_list(settings.plugins), self.file]
        changed["callbacks"] = [*callbacks, *self._own_callbacks()]

        # how a GPU multiplies in float32: tf32 rounds factors to 10 bits
        rounds = self.config.float32_products == "tf32"
        torch.set_float32_matmul_precision("high" if rounds else "highest")
        torch.backends.cudnn.allow_tf32 = rounds  # for convolutions, PyTorch's default is True

        trainer = Trainer(**{**settings, **changed})
        keep_handlers(trainer)
        trainer.accumulate_grad_batches = accumulation(
            self.config.global_batch,
            devices=trainer.world_size,
            batch_size=self.datamodule.batch_size,
            accumulate=trainer.accumulate_grad_batches,
        )
        return trainer

    def _place_checkpoints(self, callbacks: list[Callback]) -> None:
        """Put the files of a user's ModelCheckpoint into the run's folder; refuse any other folder."""
        for callback in callbacks:
            if isinstance(callback, ModelCheckpoint):
                if callback.dirpath is not None:
                    raise UserError("trainer.callbacks: leave out dirpath: checkpoints belong in the run's folder")
                callback.dirpath = str((self.run_dir / BEST).resolve())

    def _own_callbacks(self) -> list[Callback]:
        """Return the callbacks of every run, in the order in which Lightning calls them."""
        settings = self._settings
        callbacks: list[Callback] = [self.timer, ReportBroken(self.run_dir), self.global_batch]

        if settings.fast_dev_run:
            callbacks.append(Progress(self.run.label))
        else:
            callbacks += [Curve(self.run_dir), self.predictions, self.frame_features]
            callbacks.append(Progress(self.run.label, self.run_dir))

        most_skipped = self.config.nan.partition(":")[2]  # the policy is fail or skip:N
        self.finite = RequireFinite(int(most_skipped or 0))
        callbacks += [ExactResumption(), self.finite]
        if not settings.fast_dev_run:  # after those that can stop training, to save their new state
            checkpoints = Checkpoints(
                run_dir=self.run_dir,
                every=self.config.checkpoint_every,
                max_time=Timer(settings.max_time).time_remaining(),
                stops=self.stops,
                file=self.file,
                finite=self.finite,
                record=self.record,
            )
            callbacks.append(checkpoints)
        callbacks.append(TrackRow(self.logger, settings.log_every_n_steps))
        return callbacks
