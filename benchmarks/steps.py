"""Steps of every family for which the host waits for no GPU: trained, validated and tested while waiting is an error.

    python -m benchmarks.steps --device cuda --trainer.precision=bf16-mixed
    python -m benchmarks.steps --device cpu --row xvit      # a rehearsal: nothing waits for a CPU

Other flags are those of ``fit``.
"""

import argparse
import json
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.__main__ import main as lit_video
from lit_video.tables.reading import read_table
from lit_video.utils.command_line import recorded_command
from lit_video.utils.environment import provenance
from lit_video.utils.files import write_atomically

TABLE = Path(__file__).with_suffix(".yaml")
# what reads numbers now and then does not in this short time
QUIET = ["--trainer.logger=false", "--checkpoint_every=3600", "--trainer.callbacks+=benchmarks.steps.NoWaiting"]


class NoWaiting(Callback):
    """From a loop's third batch on, but for its last training step, whose loss is printed, waiting is an error."""

    def __init__(self) -> None:
        self.batches = {"training": 0, "validation": 0, "test": 0}

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Begin."""
        if 2 <= batch_idx < trainer.num_training_batches - 1:
            self._refuse(pl_module, "training")

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """End before the last step."""
        if batch_idx == trainer.num_training_batches - 2:
            self._allow(pl_module)

    def on_validation_batch_start(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """Begin."""
        if batch[1] >= 2:
            self._refuse(pl_module, "validation")

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """End before the metrics are computed."""
        self._allow(pl_module)

    def on_test_batch_start(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """Begin."""
        if batch[1] >= 2:
            self._refuse(pl_module, "test")

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """End before the metrics are computed; nothing watched shows nothing."""
        self._allow(pl_module)
        if not all(self.batches.values()):
            raise RuntimeError(f"batches watched: {self.batches}, expected some of each")

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """End."""
        self._allow(pl_module)

    def _refuse(self, pl_module: LightningModule, loop: str) -> None:
        self.batches[loop] += 1
        if pl_module.device.type == "cuda":
            torch.cuda.set_sync_debug_mode("error")

    def _allow(self, pl_module: LightningModule) -> None:
        if pl_module.device.type == "cuda":
            torch.cuda.set_sync_debug_mode("default")


def main(argv: list[str]) -> int:
    """Run the rows, each whatever becomes of the others; exit status 0 if none waits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--row", help="one of them (default: all)")
    parser.add_argument("--json", type=Path, help="keep what was found, after every row")
    arguments, flags = parser.parse_known_args(argv)
    rows = [arguments.row] if arguments.row else [row.name for row in read_table([TABLE]).rows]
    facts = provenance(recorded_command(argv, "benchmarks.steps"), arguments.device)
    fails: dict[str, str] = {}
    flags += [f"--trainer.accelerator={'cpu' if arguments.device == 'cpu' else 'gpu'}", *QUIET]
    for number, row in enumerate(rows, 1):
        if reason := _why_it_fails(row, flags):
            fails[row] = reason
        if arguments.json:
            result = facts | {"watched": arguments.device == "cuda", "rows": rows[:number], "fails": fails}
            write_atomically(arguments.json, json.dumps(result, indent=2) + "\n")
    done = "rehearsed on a CPU" if arguments.device == "cpu" else "no steady step waits for the GPU"
    print(f"waits, or fails (see above): {', '.join(fails)}" if fails else f"{done}: {', '.join(rows)}", flush=True)
    return 1 if fails else 0


def _why_it_fails(row: str, flags: list[str]) -> str:
    """Where it waits, or what is not installed; empty where all is well."""
    with tempfile.TemporaryDirectory() as runs:
        try:
            status = lit_video(["fit", "--config", str(TABLE), "--row", row, "--runs", runs, *flags])
        except Exception as error:
            traceback.print_exc()
            return f"{type(error).__name__}: {error}".split("\n")[0]
        return f"exit status {status}" if status else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
