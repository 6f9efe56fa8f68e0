"""One run of one row: training, test, ``result.json``."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from lightning import Trainer
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint, Timer
from lightning.pytorch.strategies import ModelParallelStrategy

from lit_video.costs.count import count
from lit_video.datamodules.digest import data_digest
from lit_video.errors import UserError
from lit_video.inference.checkpoints import load_model
from lit_video.tables.results import read_result
from lit_video.tables.table import Row
from lit_video.training.callbacks.attention_picture import record_attention
from lit_video.training.callbacks.broken_videos import ReportBroken
from lit_video.training.callbacks.global_batch import GlobalBatch
from lit_video.training.callbacks.learning_curve import Curve
from lit_video.training.callbacks.predictions import SavePredictions
from lit_video.training.callbacks.progress import progress_callback
from lit_video.training.cli import CheckCLI, VideoCLI, refuse_ignored, user_errors
from lit_video.training.global_batch import accumulation, check_scaling
from lit_video.training.request import Request
from lit_video.training.run_folder import disk_errors, locked, same_settings, usable_checkpoint, writable
from lit_video.training.wandb_logger import RowLogger, TrackRow
from lit_video.utils.environment import commit, device_name, versions
from lit_video.utils.files import write_atomically
from lit_video.video.decoding import DecodeError


class RunCLI(VideoCLI):
    """Data set, model and trainer of one run, the trainer with the run's folder, checkpoint, progress and logger."""

    def __init__(self, args: list[str], facts: dict[str, Any], row: Row, run_dir: Path) -> None:
        self.facts = facts
        self.row = row
        self.run_dir = run_dir
        self.timer = Timer()
        self.global_batch = GlobalBatch()
        self.logger: RowLogger | None = None
        self.predictions = SavePredictions(run_dir, f"{row.label}, seed {facts['seed']}")
        super().__init__(args)

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """The configured trainer, completed by what every run has; a logger of the user's own replaces ours."""
        params, macs = count(self.model, self.datamodule.frames, self.datamodule.image_size)
        views = self.datamodule.test_clips * self.datamodule.test_crops
        self.facts |= {"scheme": self.model.scheme_name, "params": params, "gmacs": macs / 1e9, "views": views}
        settings = self.config_init.trainer
        checkpoint = ModelCheckpoint(
            dirpath=self.run_dir,
            filename="last",
            train_time_interval=timedelta(seconds=self.config.checkpoint_every),
            enable_version_counter=False,
        )
        progress = progress_callback(f"{self.row.name} seed {self.facts['seed']}")
        kwargs["callbacks"] = [
            *(settings.callbacks or []),
            checkpoint,
            progress,
            self.timer,
            ReportBroken(self.run_dir),
            self.global_batch,
        ]
        if not settings.fast_dev_run:
            kwargs["callbacks"] += [Curve(self.run_dir), self.predictions]
        kwargs["default_root_dir"] = str(self.run_dir)
        kwargs["enable_progress_bar"] = settings.enable_progress_bar is not False and sys.stdout.isatty()
        if settings.logger in (None, True) and not settings.fast_dev_run:
            self.logger = RowLogger(self.run_dir, self.facts, self.resolved(), self.row)
            kwargs["logger"] = self.logger
            kwargs["callbacks"] += [TrackRow(self.logger), LearningRateMonitor("step")]
        trainer = super().instantiate_trainer(**kwargs)
        trainer.accumulate_grad_batches = accumulation(
            self.config.global_batch,
            trainer.world_size,
            self.datamodule.batch_size,
            trainer.accumulate_grad_batches,
        )
        return trainer


def check_rows(request: Request) -> None:
    """Find every mistake that can be found without training, in all rows and seeds, before anything is written.

    Raises:
        UserError: the first one, with file, row and key.
    """
    for row in request.rows:
        for seed in request.seeds:
            _check(request, row, seed)
    for row in request.rows:
        for seed in request.seeds:
            writable(request.table.run_dir(request.runs, row, seed))


def run_row(request: Request, row: Row, seed: int) -> int:
    """Train and test a row with a seed, from its last checkpoint if there is one; returns the exit status."""
    run_dir = request.table.run_dir(request.runs, row, seed)
    if not first_process():  # one of several, started by Lightning, torchrun or Slurm
        return 0 if read_result(run_dir) else _train_and_test(request, row, seed, run_dir)
    _check(request, row, seed)
    writable(run_dir)
    with locked(run_dir, f"{request.table.name} {row.name} seed {seed}"), disk_errors(run_dir):
        if read_result(run_dir):
            print(f"{row.name} seed {seed}: finished, skipped (see {run_dir / 'result.json'})")
            return 0
        return _train_and_test(request, row, seed, run_dir)


def build_row(request: Request, row: Row, seed: int, build: type[CheckCLI] = CheckCLI) -> CheckCLI:
    """Data set and model of a row, on the meta device unless built otherwise.

    Raises:
        UserError: a setting is wrong; the message names it.
    """
    args, where = request.row_args(row, seed), partial(request.place, row)
    refuse_ignored(args, where(""))
    with user_errors(where):
        return build(args)


def _check(request: Request, row: Row, seed: int) -> None:
    """Settings, data, and what the run's folder already holds."""
    cli, where = build_row(request, row, seed), partial(request.place, row)
    with user_errors(where):
        cli.datamodule.check()
        check_scaling(cli.config.trainer, cli.config.global_batch, cli.datamodule.batch_size)
    same_settings(request.table.run_dir(request.runs, row, seed), cli.resolved(), where(""))


def _train_and_test(request: Request, row: Row, seed: int, run_dir: Path) -> int:
    facts = {"table": request.table.name, "row": row.name, "scale": request.table.scale, "seed": seed}
    with user_errors(partial(request.place, row)):
        cli = RunCLI(request.row_args(row, seed), facts | {"commit": commit()}, row, run_dir)
    trainer = cli.trainer
    if trainer.is_global_zero:
        write_atomically(run_dir / "config.yaml", yaml.safe_dump(cli.resolved(), sort_keys=False))
    checkpoint = usable_checkpoint(run_dir, owner=trainer.is_global_zero)
    with broken_videos():
        trainer.fit(cli.model, cli.datamodule, ckpt_path=checkpoint, weights_only=False)
    if trainer.interrupted:
        print(f"{row.name}: interrupted; the same command again goes on from the last checkpoint")
        return 130
    if not cli.config.trainer.fast_dev_run:
        trainer.save_checkpoint(run_dir / "last.ckpt")  # the weights that the result is measured with
    seconds = cli.timer.time_elapsed("train")
    with broken_videos():
        trainer.test(cli.model, cli.datamodule, verbose=False)
        metrics = _test_metrics(trainer) | _other_orders(cli) | cli.predictions.calibration_error
    if trainer.is_global_zero and not cli.config.trainer.fast_dev_run:
        _write_result(cli, metrics, seconds)
    return 0


def _other_orders(cli: RunCLI) -> dict[str, float]:
    """Accuracy with the frames of every clip in other orders, where the data set's settings name some."""
    metrics: dict[str, float] = {}
    cli.trainer.loggers = []  # the run's record keeps the test of videos as they are
    for order in cli.datamodule.test_orders:
        cli.datamodule.order = order
        cli.trainer.test(cli.model, cli.datamodule, verbose=False)
        measured = {key: value for key, value in _test_metrics(cli.trainer).items() if key != "test/videos"}
        metrics |= {f"{order}/{key.removeprefix('test/')}": value for key, value in measured.items()}
    return metrics


def _test_metrics(trainer: Trainer) -> dict[str, float]:
    return {key: float(value) for key, value in trainer.callback_metrics.items() if key.startswith("test/")}


def _write_result(cli: RunCLI, metrics: dict[str, float], seconds: float) -> None:
    """Close the W&B run, then write ``result.json``: the last thing a run does."""
    sharded = isinstance(cli.trainer.strategy, ModelParallelStrategy)  # one process has not all weights
    model = load_model(type(cli.model), cli.run_dir / "last.ckpt") if sharded else cli.model
    record_attention(model, cli.datamodule, cli.run_dir)
    videos, broken = int(metrics.pop("test/videos")), len(cli.datamodule.found_broken.reasons["test"])
    if cli.logger:
        cli.logger.finish(metrics)
    result = cli.facts | {
        "metrics": metrics,
        "test_videos": videos,
        "test_broken": broken,
        "video_counts": cli.datamodule.video_counts,
        "data_digest": data_digest(cli.datamodule),
        "steps": cli.trainer.global_step,
        "global_batch": cli.global_batch.clips,
        "seconds": seconds,
        "device": device_name(),
        "versions": versions(),
        "command": " ".join(["python -m lit_video", *sys.argv[1:]]),
        "finished": datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    write_atomically(cli.run_dir / "result.json", json.dumps(result, indent=2) + "\n")
    scores = ", ".join(f"{key} {value:.1f}" for key, value in metrics.items())
    print(f"{cli.row.name} seed {cli.facts['seed']}: {scores} on {videos} videos, {seconds:.0f} s", flush=True)


@contextmanager
def broken_videos() -> Iterator[None]:
    """Report a video that cannot be read in one line, from any process."""
    try:
        yield
    except DecodeError as error:  # from a worker it carries the worker's traceback, the reason in its last line
        reason = str(error).strip().splitlines()[-1].removeprefix(f"{DecodeError.__module__}.DecodeError: ")
        raise UserError(f"{reason}; fix the video or take it out of the data set") from error


def first_process() -> bool:
    """Whether this is the only process of a run, or the one that owns its folder."""
    return all(os.environ.get(name, "0") == "0" for name in ("RANK", "LOCAL_RANK", "SLURM_PROCID"))
