"""Weights & Biases: a run per row and seed, offline where no key is configured."""

import csv
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from lit_video.datamodules.digest import data_digest
from lit_video.tables.flat_settings import flat_settings
from lit_video.tables.identity import lasting_settings
from lit_video.tables.table import Row
from lit_video.training.callbacks.checkpoints import Stopped
from lit_video.training.endings import exit_status
from lit_video.training.wandb_record import WandbRecord
from lit_video.utils.stop_signals import DONE, FAILED
from lit_video.video.seeding import digest

FIGURES = ("confusion", "calibration", "attention")  # files NAME.png, or NAME_TASK.png of several tasks


def wandb_media(run_dir: Path) -> dict[str, Any]:
    """Media of the files that exist, by W&B's key.

    Returns:
        ``figures/NAME`` the pictures as they are; ``test/classes`` the table ``classes.csv``.
    """
    import wandb  # here, as runs without a logger need no W&B

    pictures = sorted(path for name in FIGURES for path in run_dir.glob(f"{name}*.png"))
    media: dict[str, Any] = {f"figures/{path.stem}": wandb.Image(str(path)) for path in pictures}
    if (run_dir / "classes.csv").exists():
        columns, data = _table(run_dir / "classes.csv")
        media["test/classes"] = wandb.Table(columns=[*columns], data=data)
    return media


def _table(path: Path) -> tuple[list[str], list[list[Any]]]:
    """Columns and data of a csv: text in ``task`` and ``class``, numbers elsewhere."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    text = {"task", "class"}
    data: list[list[Any]] = [
        [cell if name in text else _number(cell) for name, cell in zip(head, row, strict=True)] for row in rows
    ]
    return head, data


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


class RowLogger(Logger):
    """W&B's run of a row and seed: group = table, name = row, deterministic id, whole configuration.

    Without a configured key, or without a network, it records offline by itself, and says so once. Nothing that goes
    wrong with W&B ends the training (see :class:`~lit_video.training.wandb_record.WandbRecord`), so this is not
    Lightning's logger, whose every call can raise or wait for W&B's process.

    Args:
        run_dir: folder of the run; W&B writes to ``run_dir/wandb``.
        facts: flat facts of the run (table, row, seed, scheme, params, ...), which dashboards group and filter by.
        config: the resolved configuration; its plain settings become flat keys too.
        row: the table's row, whose paper numbers go to the summary.
    """

    def __init__(self, run_dir: Path, facts: dict[str, Any], config: dict[str, Any], row: Row) -> None:
        super().__init__()
        # tables stay inside the run's folder
        os.environ.setdefault("WANDB_DATA_DIR", str(run_dir / "wandb"))
        if not _has_cache():
            os.environ.setdefault("WANDB_CACHE_DIR", str(run_dir / "wandb"))
        self.facts = flat_settings(config) | facts  # a setting called views is not their number
        name = f"{facts['table']}-{facts['scale']}-{facts['row']}-seed{facts['seed']}"
        self.settings: dict[str, Any] = {
            "name": str(facts["row"]),
            "dir": str(run_dir),
            "project": os.environ.get("WANDB_PROJECT", "lit_video"),
            "id": f"{name}-{digest(str(sorted(lasting_settings(config).items()))) % 16**6:06x}",
            "group": str(facts["table"]),
            "job_type": "fit",
            "tags": [str(self.facts[key]) for key in ("table", "scale", "row", "scheme")] + [f"seed{facts['seed']}"],
            "resume": "allow",
        }
        self.run_dir = run_dir
        self.config = config
        self.paper = {f"paper/{key}": value for key, value in row.paper.items()}
        self.record = WandbRecord(run_dir / "wandb", results=run_dir)

    @property
    def name(self) -> str:
        """The project."""
        return str(self.settings["project"])

    @property
    def version(self) -> str:
        """The run's id."""
        return str(self.settings["id"])

    def begin(self) -> None:
        """Open the run, and record configuration and paper numbers."""
        self.record.open(self.settings)
        self.record.do(self._describe)

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Nothing more: Lightning's hyper-parameters would replace flat keys of the same names."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Record numbers of a training step."""
        self.record.step = self.record.step if step is None else step
        self.record.do(partial(self.record.log, {**metrics, "trainer/global_step": self.record.step}))

    def finish(self, metrics: dict[str, float]) -> None:
        """Record the test's results as figures, tables and summary, and close the run.

        The comparison with the paper is the table ``result``; the files of the run's folder are logged as they are
        (see :func:`~lit_video.training.wandb_logger.wandb_media`).
        """
        self.record.do(partial(self._results, metrics), seconds=60)  # pictures are copied
        self.close(DONE)

    def close(self, exit_code: int) -> None:
        """End the record with the run's exit status, in bounded time; safe to call at any time, and again."""
        self.record.close(exit_code)

    def _describe(self) -> None:
        if run := self.record.run:
            run.config.update(self.facts | {"cli": self.config}, allow_val_change=True)  # type: ignore[no-untyped-call]
            run.summary.update(self.paper)

    def _results(self, metrics: dict[str, float]) -> None:
        import wandb

        if run := self.record.run:
            rows = [[key, value, self.paper.get(f"paper/{key}")] for key, value in metrics.items()]
            run.summary.update(metrics)
            table = wandb.Table(columns=["metric", "ours", "paper"], data=rows)
            self.record.log({"result": table} | wandb_media(self.run_dir))


class TrackRow(Callback):
    """Opens the run's record when training begins; a checkpoint holds the number of rows that were logged."""

    def __init__(self, logger: RowLogger) -> None:
        self.logger = logger

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the configuration, on one process."""
        if trainer.is_global_zero:
            self.logger.facts["data_digest"] = data_digest(trainer.datamodule)  # type: ignore[attr-defined]
            self.logger.begin()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Close the record of a run that fails, or that stops at a checkpoint."""
        self.logger.close(exit_status(exception.reason) if isinstance(exception, Stopped) else FAILED)

    def state_dict(self) -> dict[str, int]:
        """The rows of history so far, in all parts of the run."""
        return {"wandb_rows": self.logger.record.rows}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Let the next row have the next number."""
        record = self.logger.record
        record.rows = max(
            record.rows, state_dict["wandb_rows"]
        )  # the test loads a checkpoint once more, after further rows


def _has_cache() -> bool:
    """Whether W&B can write its logs where it keeps them; else it sends them all to stderr."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "wandb"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
