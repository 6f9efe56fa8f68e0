"""Weights & Biases: a run per row and seed, offline where no key is configured."""

from __future__ import annotations

import netrc
import os
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import WandbLogger

from lit_video.datamodules.fingerprint import data_digest
from lit_video.datamodules.seeding import digest
from lit_video.modules.metrics import VideoAccuracy
from lit_video.tables import Row


class RowLogger(WandbLogger):
    """WandbLogger for one run of a row: group = table, name = row, deterministic id, whole configuration.

    Without a configured key it records offline by itself, and says so once.

    Args:
        run_dir: folder of the run; W&B writes to ``run_dir/wandb``.
        facts: flat facts of the run (table, row, seed, commit, params, ...), which dashboards group and filter by.
        config: the resolved configuration.
        row: the table's row, whose paper numbers go to the summary.
    """

    def __init__(self, run_dir: Path, facts: dict[str, Any], config: dict[str, Any], row: Row) -> None:
        # records reach the disk within a second, so a killed run keeps them; tables stay inside the run's folder
        os.environ.setdefault("WANDB_X_TRANSACTION_LOG_FLUSH_INTERVAL", "1")
        os.environ.setdefault("WANDB_DATA_DIR", str(run_dir / "wandb"))
        name = f"{facts['table']}-{facts['scale']}-{facts['row']}-seed{facts['seed']}"
        super().__init__(
            name=str(facts["row"]),
            save_dir=str(run_dir),
            project=os.environ.get("WANDB_PROJECT", "lit_video"),
            offline=offline(),
            id=f"{name}-{digest(str(config)) % 16**6:06x}",
            group=str(facts["table"]),
            job_type="fit",
            tags=[str(facts[key]) for key in ("table", "scale", "row")] + [f"seed{facts['seed']}"],
            resume="allow",
        )
        # W&B warns of this argument, which Lightning passes whatever its value
        self._wandb_init.pop("anonymous", None)
        scheme = config["model"]["class_path"].rpartition(".")[2]
        self.facts = _settings(config) | facts | {"scheme": scheme}  # a setting called views is not their number
        self.config = config
        self.paper = {f"paper/{key}": value for key, value in row.paper.items()}

    def begin(self) -> None:
        """Record configuration and paper numbers; say where an offline run lies."""
        run = self.experiment
        run.config.update(self.facts | {"cli": self.config}, allow_val_change=True)
        run.summary.update(self.paper)
        if self._offline:
            folder = f"{self.save_dir}/wandb"
            print(f"W&B: no API key, recording offline; look: wandb leet {folder}; upload: wandb sync", flush=True)

    def finish(self, metrics: dict[str, float]) -> None:
        """Record the comparison with the paper as a table, and close the run."""
        rows = [[key, value, self.paper.get(f"paper/{key}")] for key, value in metrics.items()]
        self.log_table("result", columns=["metric", "ours", "paper"], data=rows)
        self.experiment.finish()


class TrackRow(Callback):
    """Opens the run's record when training begins and logs per-class accuracy after the test."""

    def __init__(self, logger: RowLogger, class_names: list[str] | dict[str, list[str]]) -> None:
        self.logger = logger
        self.class_names = class_names if isinstance(class_names, dict) else {"": class_names}

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the configuration, on one process."""
        if trainer.is_global_zero:
            self.logger.facts["data_digest"] = data_digest(trainer.datamodule)  # type: ignore[attr-defined]
            self.logger.begin()

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Accuracy of every class, a table for each task; of tests beside the run's own there is no record."""
        if self.logger not in trainer.loggers:
            return
        accuracy = pl_module.test_accuracy
        assert isinstance(accuracy, VideoAccuracy)
        with accuracy.sync_context():  # every process's share, on every process
            tasks = accuracy.per_task()
        for task, (logits, target) in tasks.items() if trainer.is_global_zero else ():
            hits = logits.argmax(1) == target
            rows = [
                [name, 100 * float(hits[target == i].float().mean()), int((target == i).sum())]
                for i, name in enumerate(self.class_names[task])
                if (target == i).any()
            ]
            key = f"test/{task}_classes" if task else "test/classes"
            self.logger.log_table(key, columns=["class", "top1", "videos"], data=rows)


def offline() -> bool:
    """Whether no key for the W&B server is configured, or ``WANDB_MODE`` asks for offline."""
    if "WANDB_MODE" in os.environ:
        return os.environ["WANDB_MODE"] == "offline"
    if os.environ.get("WANDB_API_KEY"):
        return False
    host = os.environ.get("WANDB_BASE_URL", "api.wandb.ai").split("//")[-1].rstrip("/")
    try:
        return netrc.netrc().authenticators(host) is None
    except (OSError, netrc.NetrcParseError):
        return True


def _settings(config: dict[str, Any]) -> dict[str, Any]:
    """The model's plain settings as flat keys (``window``, ``ratio``, ...), and the data set's."""
    model, data = config["model"]["init_args"], config["data"]["init_args"]
    flat = {key: value for key, value in (data | model).items() if isinstance(value, str | int | float | bool)}
    return flat | {"data": config["data"]["class_path"].rpartition(".")[2]}
