"""One run as processes of its own: started, watched, ended."""

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults.place import ROOT, Place

TINY = ["--data.pairs=[2,1,1]", "--data.frames=4", "--data.image_size=16", "--data.num_workers=1"]
TINY += ["--model.size.width=16", "--model.size.depth=2", "--model.size.heads=2"]
TINY += ["--trainer.max_epochs=24", "--trainer.log_every_n_steps=2", "--trainer.check_val_every_n_epoch=8"]
TINY += ["--checkpoint_every=0.5", "--trainer.callbacks+=benchmarks.faults.marks.MarkValidation"]
TWO_RANKS = ["--data.batch_size=2", "--trainer.devices=2", "--trainer.strategy=ddp", "--trainer.accelerator=cpu"]
END = 180.0  # seconds in which a run must end

# set when the harness is to end
cancelled = threading.Event()


class Cancelled(Exception):
    """The harness is to end."""


@dataclass(frozen=True)
class Setting:
    """What is run: a row of the embedded X-ViT Table 1, made tiny.

    Args:
        row: of the table.
        seed: of the run.
        ranks: processes that train together.
        wandb: whether W&B records it, offline.
        flags: further ones.
    """

    row: str = "tw1"
    seed: int = 0
    ranks: int = 1
    wandb: bool = False
    flags: tuple[str, ...] = ()

    def command(self, runs: Path) -> list[str]:
        """The command line."""
        ours = ["--config", "tests/moving_shapes/ablation_tw.yaml", "--row", self.row, "--seeds", str(self.seed), *TINY]
        ours += TWO_RANKS if self.ranks == 2 else ["--data.batch_size=4"]
        ours += [] if self.wandb else ["--trainer.logger=false"]
        return [sys.executable, "-m", "lit_video", "fit", *ours, *self.flags, "--runs", str(runs)]

    def folder(self, runs: Path) -> Path:
        """The run's folder."""
        return runs / "ablation_tw/embedded" / self.row / f"seed{self.seed}"


class Attempt:
    """A started run; use it in a ``with``, which leaves no process behind.

    Args:
        setting: what is run.
        place: where.
        slow: whether disk and validation take their time, for a fault to hit them.
    """

    def __init__(self, setting: Setting, place: Place, slow: bool = False) -> None:
        self.setting, self.place = setting, place
        self.run_dir = setting.folder(place.runs)
        self.mark = uuid.uuid4().hex
        self.pids: set[int] = set()
        place.validation.unlink(missing_ok=True)
        self._out, self._err = place.folder / f"out{self.mark}", place.folder / f"err{self.mark}"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                setting.command(place.runs),
                cwd=ROOT,
                env=place.environment(self.mark, slow),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def __enter__(self) -> "Attempt":
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.alive():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    @property
    def out(self) -> str:
        """What it printed so far."""
        return self._out.read_text(errors="replace")

    @property
    def err(self) -> str:
        """What it said on stderr so far."""
        return self._err.read_text(errors="replace")

    def alive(self) -> list[int]:
        """Its processes, wherever they hang in the tree; zombies are none."""
        found = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and self._ours(path)]
        self.pids.update(found)
        return found

    def wait_for(self, event: Callable[["Attempt"], bool]) -> bool:
        """Wait for an event; ``False`` if the run ends, or too much time passes, before it."""
        start = time.monotonic()
        while self.process.poll() is None and time.monotonic() - start < END:
            if cancelled.is_set():
                raise Cancelled
            if event(self):
                return True
            time.sleep(0.004)
        return False

    def wait(self) -> int | None:
        """Exit status, negative for a signal; ``None`` if it does not end in time, with its stacks on stderr."""
        start = time.monotonic()
        while (status := self.process.poll()) is None and time.monotonic() - start < END:
            if cancelled.is_set():
                raise Cancelled
            time.sleep(0.05)
        if status is None:
            for pid in self.alive():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGABRT)  # with faulthandler
                time.sleep(1)
        return status

    def _ours(self, path: Path) -> bool:
        try:
            if f"FAULTS_MARK={self.mark}".encode() not in (path / "environ").read_bytes():
                return False
            return (path / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False
