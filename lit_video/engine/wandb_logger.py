"""Weights & Biases: a record of each run, offline if a key or the server is missing; a failure of W&B ends no run."""

import csv
import io
import logging
import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer
from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import WandbLogger
from lightning.pytorch.loggers.logger import DummyLogger
from lightning.pytorch.utilities import rank_zero_only
from msgspec import structs

from lit_video.engine.checkpoints import Stopped
from lit_video.errors import one_line
from lit_video.runs.record import RowFacts
from lit_video.settings.differences import lasting_settings
from lit_video.settings.nested import plain_settings
from lit_video.tables.table import Row
from lit_video.utils.processes import DONE, FAILED
from lit_video.utils.wandb_login import RECORDED, server, wandb_project, why_offline
from lit_video.video.seeding import digest

_logger = logging.getLogger(__name__)

MOST_TAG = 64  # most characters of a tag that W&B takes
MOST_NAME = 128  # characters of a name or a group
MOST_ID = 110  # characters of a run's names in its id: with a digest, as the name of an artifact, at most 128
# Slurm gives a job 30 s to stop; by default W&B may take 90 s to start, and any time to finish
LIMITS = {"WANDB_INIT_TIMEOUT": "20", "WANDB_FINISH_TIMEOUT": "20", "WANDB_FINISH_TIMEOUT_RAISES": "true"}


class RowLogger(WandbLogger):
    """W&B's record of a run: grouped by table, with a deterministic id, all settings, and optimizer steps as its axis.

    Dashboards group and filter by keys: those of ``facts``, the commit, and ``config``'s plain settings below
    ``trainer``, ``data`` and ``model``. The summary has the row's numbers from the paper. W&B writes to
    ``run_dir/wandb`` only.
    """

    def __init__(
        self, run_dir: Path, facts: RowFacts, *, commit: str | None, config: dict[str, Any], row: Row, title: str
    ) -> None:
        self.run_dir = run_dir
        self.folder = run_dir / "wandb"
        folders = dict.fromkeys(("WANDB_DATA_DIR", "WANDB_CACHE_DIR"), str(self.folder))
        os.environ |= LIMITS | os.environ | folders  # a user's limits win

        groups = {name: config.get(name) or {} for name in ("trainer", "data", "model")}
        shown: dict[str, Any] = {**structs.asdict(facts), "label": row.label, "title": title, **plain_settings(groups)}
        if commit is not None:
            shown["commit"] = commit

        names = _cut(f"{facts.table}-{facts.scale}-{facts.row}-seed{facts.seed}", MOST_ID)
        run_id = f"{names}-{_six_digits(str(sorted(lasting_settings(config).items())))}"
        if "WANDB_SWEEP_ID" in os.environ:  # the agent of a W&B sweep assigns the id
            run_id = os.environ.get("WANDB_RUN_ID", run_id)

        reason = why_offline()
        tags = [facts.table, facts.scale, facts.row, facts.scheme, f"seed{facts.seed}"]
        super().__init__(
            name=_cut(f"{row.label}, seed {facts.seed} ({title})", MOST_NAME),
            save_dir=run_dir,
            id=run_id,
            project=wandb_project(),
            group=_cut(facts.table, MOST_NAME),
            job_type="fit",
            tags=[_cut(tag, MOST_TAG) for tag in tags if tag],
            config=shown,
            allow_val_change=True,
            mode="offline" if reason else "online",
        )
        del self._wandb_init["anonymous"]  # W&B warns about this key even if it is None

        self.paper = {f"paper/{key}": value for key, value in row.paper.items()}
        self.step = 0
        self.ended = os.environ.get("WANDB_MODE") == "disabled"
        self.folder.mkdir(parents=True, exist_ok=True)  # without it W&B silently writes to a temporary folder
        if not self.ended:
            upload = f"wandb sync {shlex.quote(str(self.folder.resolve()))}/offline-run-*"
            sent = f"sends {RECORDED} to {server()}; --trainer.logger false sends nothing"
            kept = f"{reason}, recording offline; upload: {upload}"
            rank_zero_only(_logger.info)(f"W&B: {kept if reason else sent}")

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """W&B's run, started at the first use; a dummy if it could not start or has ended."""
        return self.call(lambda: super(RowLogger, self).experiment) or DummyLogger().experiment

    def call(self, function: Callable[[], Any]) -> Any:
        """Call W&B unless the record has ended; the first failure prints one line and ends the record."""
        try:
            return None if self.ended else function()
        except (Exception, SystemExit) as error:  # W&B raises SystemExit too
            lost = f"W&B: {one_line(error)[:300]}; nothing is recorded there after step {self.step}"
            _logger.info(f"{lost}; results are in {self.run_dir}, and files for wandb sync in {self.folder}")
            self._end()

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Log nothing: Lightning's hyper-parameters would replace flat keys of the same names."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Record numbers with the optimizer step as W&B's step, so that a resumed run repeats no row."""
        self.step = self.step if step is None else step
        numbers = {**metrics, "trainer/global_step": self.step}
        self.call(lambda: self.experiment.log(numbers, step=self.step))

    def finish(self, metrics: dict[str, float], checkpoint: Path | None = None) -> None:
        """Record the test's metrics and pictures, and ``checkpoint`` as a model artifact; end the record."""

        def log_results() -> None:
            import wandb

            run = self.experiment
            run.summary.update(self.paper | metrics)
            run.log({"trainer/global_step": self.step} | wandb_media(self.run_dir), step=max(self.step, run.step))
            if checkpoint:
                artifact = wandb.Artifact(f"model-{self.version}", type="model", metadata=metrics)
                artifact.add_file(str(checkpoint), name="model.ckpt", skip_cache=True)
                logged = run.log_artifact(artifact)
                if not run.offline:
                    logged.wait(600)  # seconds; WANDB_FINISH_TIMEOUT is too short for a checkpoint

        self.call(log_results)
        self.close(DONE)

    def close(self, status: int) -> None:
        """End the record, if there is one, with the run's exit status; mark a stopped run as preempted."""
        if self._experiment and not self.ended:
            if status not in (DONE, FAILED):
                self.call(self.experiment.mark_preempting)
            self.call(lambda: self.experiment.finish(status))
            self._end()

    def _end(self) -> None:
        """End W&B's process, because it remembers the run's id; ignore errors."""
        self.ended = True
        with suppress(Exception, SystemExit):
            import wandb

            wandb.teardown()


class TrackRow(Callback):
    """Callback of W&B's record: logging interval, by default at most 50 steps; learning rate; end at an exception."""

    def __init__(self, logger: RowLogger | None, every: int | None) -> None:
        self.logger = logger
        self.every = every

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Set the interval; Lightning's default of 50 steps logs no loss in shorter trainings."""
        if self.every is None:
            every = max(1, int(min(50, trainer.estimated_stepping_batches / 50)))
            trainer.log_every_n_steps = every  # type: ignore[attr-defined]

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Record the highest learning rate; layer decay makes those of lower layers a fixed part of it."""
        step = trainer.global_step
        if self.logger and step % trainer.log_every_n_steps == 0:  # type: ignore[attr-defined]
            rates = [group["lr"] for optimizer in trainer.optimizers for group in optimizer.param_groups]
            self.logger.log_metrics({"train/lr": max(rates)}, step)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """End the record of a run that fails, or that stops at a checkpoint."""
        if self.logger:
            self.logger.close(exception.status if isinstance(exception, Stopped) else FAILED)


def _cut(name: str, most: int) -> str:
    """Return a name of at most ``most`` characters: of a longer one its beginning, and a digest that tells it."""
    if len(name) <= most:
        return name
    mark = f"-{_six_digits(name)}"
    return name[: most - len(mark)] + mark


def _six_digits(text: str) -> str:
    """Return a digest of a text in six hexadecimal digits."""
    return f"{digest(text) % 16**6:06x}"


def wandb_media(run_dir: Path) -> dict[str, Any]:
    """Read a run's confusion matrices as ``figures/NAME``, and the table ``classes.csv`` as ``test/classes``."""
    import wandb

    pictures = sorted(run_dir.glob("confusion*.png"))  # one per task
    media: dict[str, Any] = {f"figures/{path.stem}": wandb.Image(str(path)) for path in pictures}
    with suppress(FileNotFoundError):
        text = (run_dir / "classes.csv").read_text(encoding="utf-8", errors="replace")
        columns, *rows = csv.reader(io.StringIO(text, newline=""))  # task, class, numbers
        data = [[*row[:2], *map(float, row[2:])] for row in rows]
        media["test/classes"] = wandb.Table(columns=[*columns], data=data)
    return media
