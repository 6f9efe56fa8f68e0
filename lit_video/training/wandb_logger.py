"""Weights & Biases: a run per row and seed, offline where no key is configured."""

import os
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import WandbLogger

from lit_video.datamodules.digest import data_digest
from lit_video.tables.flat_settings import flat_settings
from lit_video.tables.table import Row
from lit_video.training.wandb_media import wandb_media
from lit_video.utils.wandb_login import offline
from lit_video.video.seeding import digest


class RowLogger(WandbLogger):
    """WandbLogger for one run of a row: group = table, name = row, deterministic id, whole configuration.

    Without a configured key it records offline by itself, and says so once.

    Args:
        run_dir: folder of the run; W&B writes to ``run_dir/wandb``.
        facts: flat facts of the run (table, row, seed, scheme, params, ...), which dashboards group and filter by.
        config: the resolved configuration; its plain settings become flat keys too.
        row: the table's row, whose paper numbers go to the summary.
    """

    def __init__(self, run_dir: Path, facts: dict[str, Any], config: dict[str, Any], row: Row) -> None:
        # records reach the disk within a second, so a killed run keeps them; tables stay inside the run's folder
        os.environ.setdefault("WANDB_X_TRANSACTION_LOG_FLUSH_INTERVAL", "1")
        os.environ.setdefault("WANDB_DATA_DIR", str(run_dir / "wandb"))
        if not _has_cache():
            os.environ.setdefault("WANDB_CACHE_DIR", str(run_dir / "wandb"))
        self.facts = flat_settings(config) | facts  # a setting called views is not their number
        name = f"{facts['table']}-{facts['scale']}-{facts['row']}-seed{facts['seed']}"
        super().__init__(
            name=str(facts["row"]),
            save_dir=str(run_dir),
            project=os.environ.get("WANDB_PROJECT", "lit_video"),
            offline=offline(),
            id=f"{name}-{digest(str(config)) % 16**6:06x}",
            group=str(facts["table"]),
            job_type="fit",
            tags=[str(self.facts[key]) for key in ("table", "scale", "row", "scheme")] + [f"seed{facts['seed']}"],
            resume="allow",
        )
        # W&B warns of this argument, which Lightning always passes
        self._wandb_init.pop("anonymous", None)
        self.run_dir = run_dir
        self.config = config
        self.paper = {f"paper/{key}": value for key, value in row.paper.items()}

    def begin(self) -> None:
        """Record configuration and paper numbers; print where an offline run is."""
        run = self.experiment
        run.config.update(self.facts | {"cli": self.config}, allow_val_change=True)
        run.summary.update(self.paper)
        if self._offline:
            folder = f"{self.save_dir}/wandb"
            print(f"W&B: no API key, recording offline; view: wandb leet {folder}; upload: wandb sync", flush=True)

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Nothing more: Lightning's hyper-parameters would replace flat keys of the same names."""

    def finish(self, metrics: dict[str, float]) -> None:
        """Record the test's results as figures, tables and summary, and close the run.

        The comparison with the paper is the table ``result``; the files of the run's folder are logged as they are
        (see :func:`~lit_video.training.wandb_media.wandb_media`).
        """
        rows = [[key, value, self.paper.get(f"paper/{key}")] for key, value in metrics.items()]
        self.log_table("result", columns=["metric", "ours", "paper"], data=rows)
        if media := wandb_media(self.run_dir):
            self.experiment.log(media)
        self.experiment.summary.update(metrics)
        self.experiment.finish()

    def close(self, exit_code: int) -> None:
        """Close the record of a run that goes on later."""
        if self._experiment is not None:
            self.experiment.finish(exit_code)


class TrackRow(Callback):
    """Opens the run's record when training begins."""

    def __init__(self, logger: RowLogger) -> None:
        self.logger = logger

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the configuration, on one process."""
        if trainer.is_global_zero:
            self.logger.facts["data_digest"] = data_digest(trainer.datamodule)  # type: ignore[attr-defined]
            self.logger.begin()


def _has_cache() -> bool:
    """Whether W&B can write its logs where it keeps them; else it sends them all to stderr."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "wandb"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
