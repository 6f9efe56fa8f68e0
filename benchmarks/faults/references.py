"""What runs give that nothing happens to: each setting is run once, when it is first asked for."""

import shutil
import signal
import threading
from pathlib import Path

from benchmarks.faults.attempt import Attempt, Setting
from benchmarks.faults.checks import Outcome, read_outcome
from benchmarks.faults.place import new_place
from lit_video.utils.exit_status import TERMINATED


class References:
    """Right outcomes by setting, runs at a stage, and the data that all runs get a copy of.

    Args:
        folder: where they are kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._outcomes: dict[Setting, Outcome] = {}
        self._lock = threading.Lock()

    def outcome(self, setting: Setting) -> Outcome:
        """What the setting gives.

        Raises:
            RuntimeError: the run fails without a fault.
        """
        with self._lock:
            if setting not in self._outcomes:
                self._outcomes[setting] = self._run(setting)
            return self._outcomes[setting]

    def stage(self, setting: Setting, stage: str) -> Path:
        """Runs folder of a run that was ``stopped`` in training, or is ``finished``."""
        self.outcome(setting)
        with self._lock:
            folder = self._kept(setting, stage)
            if not folder.exists():  # stopped
                with new_place(self.data) as place, Attempt(setting, place, slow=True) as attempt:
                    attempt.wait_for(lambda run: (run.run_dir / "previous.ckpt").exists())
                    attempt.process.send_signal(signal.SIGTERM)
                    if attempt.wait() != TERMINATED:
                        raise RuntimeError(f"{setting} cannot be stopped:\n{attempt.err[-3000:]}")
                    shutil.copytree(place.runs, folder, symlinks=True)
            return folder

    def _run(self, setting: Setting) -> Outcome:
        with new_place(self.data if self.data.exists() else None) as place, Attempt(setting, place) as attempt:
            status = attempt.wait()
            outcome = read_outcome(attempt.run_dir)
            if status != 0 or outcome is None:
                raise RuntimeError(f"{setting} fails without a fault, exit status {status}:\n{attempt.err[-3000:]}")
            if not self.data.exists():
                shutil.copytree(place.data, self.data)
            shutil.copytree(place.runs, self._kept(setting, "finished"), symlinks=True)
            return outcome

    def _kept(self, setting: Setting, stage: str) -> Path:
        return self.folder / stage / f"{setting.row}-{setting.seed}-{setting.ranks}-{setting.wandb}"
