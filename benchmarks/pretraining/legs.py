"""Training of a trial in legs, each of which goes on where the last one stopped."""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer, seed_everything
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import CSVLogger

from benchmarks.harness import provenance
from benchmarks.pretraining.trials import Trial
from lit_video.engine.progress import Progress
from lit_video.engine.resumption import ExactResumption
from lit_video.training.command_line import recorded_command
from lit_video.utils.files import write_atomically

LAST = "last.ckpt"
RECORD = "trial.json"
SAVE_EVERY = 300.0  # seconds


class Leg(Callback):
    """A stretch of training: saves a checkpoint now and then, and stops after some minutes."""

    def __init__(self, checkpoint: Path, minutes: float) -> None:
        self.checkpoint = checkpoint
        self.end = time.monotonic() + 60 * minutes
        self.saved = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save if due; stop if the minutes are over."""
        now = time.monotonic()
        over = now >= self.end
        if over or now - self.saved >= SAVE_EVERY or trainer.global_step == trainer.max_steps:
            self.saved = now
            self.save(trainer)
        if over:
            trainer.should_stop = True

    def save(self, trainer: Trainer) -> None:
        """Write the checkpoint whole or not at all."""
        part = self.checkpoint.with_suffix(".part")
        trainer.save_checkpoint(part)
        part.replace(self.checkpoint)


def train(trial: Trial, folder: Path, minutes: float) -> int:
    """Train a trial for one leg, from its last checkpoint if there is one; write what was trained, and how."""
    folder.mkdir(parents=True, exist_ok=True)
    seed_everything(0, verbose=False)
    model = trial.network()
    last = folder / LAST
    trainer = Trainer(
        accelerator="cpu",
        max_steps=trial.steps,
        callbacks=[ExactResumption(), Progress(trial.name), Leg(last, minutes)],
        logger=CSVLogger(folder, name="", version=""),
        gradient_clip_val=1.0,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    begun = time.process_time()
    trainer.fit(model, trial.videos, ckpt_path=last if last.exists() else None, weights_only=True)

    record = read_record(folder)
    facts = provenance(recorded_command(sys.argv[1:], "python -m benchmarks.pretraining"), "cpu")
    facts |= {
        "trial": asdict(trial),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "step": trainer.global_step,
        "steps": trial.steps,
        "cpu_seconds": record.get("cpu_seconds", 0.0) + time.process_time() - begun,
        "metrics": {key: float(value) for key, value in trainer.callback_metrics.items() if key.startswith("val/")},
    }
    write_atomically(folder / RECORD, json.dumps(facts, indent=1) + "\n")
    return 0


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record of a trial's training; empty before its first leg."""
    path = folder / RECORD
    content: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return content
