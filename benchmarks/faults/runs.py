"""Run under faults: its folder, command, processes and phases."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from lit_video.runs.folder import read_status
from lit_video.runs.record import State

ROOT = Path(__file__).parents[2]
TINY = [
    "--data.pairs=[2,1,1]",
    "--data.skills=[drift,zoom,rotation,meeting]",
    "--data.num_frames=4",
    "--data.image_size=16",
]
TINY += [
    "--data.num_workers=1",
    "--data.keep_gb=0",
    "--model.image_weights=null",
    "--model.optimization.optimizer=adamw",
]
TINY += [
    "--model.size.embed_dim=16",
    "--model.size.depth=2",
    "--model.size.num_heads=2",
    "--trainer.log_every_n_steps=2",
]
TINY += ["--checkpoint_every=0.5", "--trainer.callbacks+=benchmarks.faults.marks.MarkValidation"]
# each epoch's validation chooses the tested checkpoint
TINY += ["--trainer.check_val_every_n_epoch=1", "--trainer.callbacks+=ModelCheckpoint"]
TINY += ["--trainer.callbacks.monitor=val/loss", "--trainer.callbacks.mode=min"]
TWO_RANKS = ["--data.batch_size=2", "--trainer.devices=2", "--trainer.strategy=ddp", "--trainer.accelerator=cpu"]
END = 600.0  # seconds of a run's own time in which it must end
LOOK = 1.0  # seconds between looks at a run's threads
# Files allowed in TMPDIR after a run: fixed names of W&B and PyTorch, and leftovers of killed processes.
KEPT = re.compile("filler|torchinductor|pymp-|wandb-|tmp.*wandb")
cancelled = threading.Event()  # set by Ctrl-C


class Cancelled(Exception):
    """Ctrl-C ends the harness."""


def mount(*command: object) -> None:
    """Run ``mount`` or ``umount`` (needs root); raise OSError if it fails or is not allowed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.stderr.strip())


class Sandbox:
    """A folder of all files of one run; the file ``clock`` shifts the run's time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock, self.validation = folder, folder / "clock", folder / "validation"
        self.runs, self.data, self.tmp, self.home = (folder / name for name in ("runs", "data", "tmp", "home"))
        self.mounts: list[Path] = []
        self.cpu = 0.0  # CPU seconds of all runs

    def environment(self, mark: str, slow: bool) -> dict[str, str]:
        """Return a run's variables: ``mark`` identifies its processes, ``slow`` prolongs writing and validation."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "WANDB_"))}
        fonts = os.environ.get("MPLCONFIGDIR") or Path("~/.cache/matplotlib").expanduser()
        ours = {"LIT_VIDEO_DATA": self.data, "TMPDIR": self.tmp, "HOME": self.home, "FAULTS_CLOCK": self.clock}
        ours |= {
            "PYTHONPATH": f"{ROOT / 'benchmarks/faults/preload'}:{ROOT}",
            "OMP_NUM_THREADS": 1,
            "FAULTS_MARK": mark,
        }
        ours |= {"WANDB_SILENT": "true", "MPLCONFIGDIR": fonts, "PYTHONFAULTHANDLER": 1}  # stacks of a run that hangs
        ours |= {"FAULTS_SLOW": 0.3, "FAULTS_VALIDATION": self.validation} if slow else {}
        return kept | {name: str(value) for name, value in ours.items()}

    def strays(self) -> list[str]:
        """Return the files that the run left outside its folder and its data."""
        found = [path for path in self.home.rglob("*") if path.is_file()]
        found += [path for path in self.tmp.iterdir() if not KEPT.match(path.name)]
        return [str(path.relative_to(self.folder)) for path in found]

    def heal(self) -> None:
        """Free small disks, and make a read-only folder writable."""
        for folder in (self.runs, self.tmp):
            with suppress(OSError):
                (folder / "filler").unlink(missing_ok=True)
        if self.mounts and not os.access(self.mounts[-1], os.W_OK):
            mount("umount", "-l", self.mounts.pop())


@contextmanager
def new_sandbox(data: Path) -> Iterator[Sandbox]:
    """Yield a sandbox with a copy of ``data``, if it exists; remove its folder and mounts at the end."""
    sandbox = Sandbox(Path(mkdtemp(prefix="lit_video_soak-")))
    for folder in (sandbox.runs, sandbox.tmp, sandbox.home):
        folder.mkdir()
    try:
        if data.exists():
            shutil.copytree(data, sandbox.data)
        yield sandbox
    finally:
        for folder in reversed(sandbox.mounts):
            with suppress(OSError):
                mount("umount", "-l", folder)
        shutil.rmtree(sandbox.folder, ignore_errors=True)


@dataclass(frozen=True)
class Setting:
    """A tiny version of a row of X-ViT's Table 1, with one or two processes, with W&B (offline) or without."""

    row: str = "tw1"
    seed: int = 0
    ranks: int = 1
    wandb: bool = False
    flags: tuple[str, ...] = ()

    def command(self, runs: Path) -> list[str]:
        """Return the command line."""
        ours = ["--config", "experiments/ablation_tw.yaml", "--row", self.row, "--seeds", str(self.seed), *TINY]
        ours += TWO_RANKS if self.ranks == 2 else ["--data.batch_size=4"]
        ours += [] if self.wandb else ["--trainer.logger=false"]
        return [sys.executable, "-m", "lit_video", "fit", *ours, *self.flags, "--runs", str(runs)]

    def folder(self, runs: Path) -> Path:
        """Return the run's folder."""
        return runs / "ablation_tw/embedded" / self.row / f"seed{self.seed}"


@dataclass(frozen=True)
class Thread:
    """Seconds that a thread ran, and that it waited for a processor."""

    ran: float
    waited: float


def threads_of(pid: int) -> dict[int, Thread]:
    """Return the threads of a process by number, none if it has ended."""
    found = {}
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError, ValueError):
            ran, waited, _ = map(int, path.read_text().split())
            found[int(path.parent.name)] = Thread(ran / 1e9, waited / 1e9)
    return found


class OwnTime:
    """A run's own time: seconds since its start without those in which its threads waited for a processor.

    On a busy machine a run may get no processor for minutes, so that a clock says nothing about the run. A run that
    hangs waits for no processor: its own time passes like the clock's.
    """

    def __init__(self, processes: Callable[[], list[int]]) -> None:
        self._processes = processes
        self._threads: dict[int, Thread] = {}
        self._looked = time.monotonic()
        self.seconds = 0.0

    @property
    def cpu(self) -> float:
        """CPU seconds of all threads, as far as looks found them."""
        return sum(thread.ran for thread in self._threads.values())

    def look(self) -> None:
        """Add the time since the last look, less the wait of all threads in it."""
        before = sum(thread.waited for thread in self._threads.values())
        for pid in self._processes():
            self._threads |= threads_of(pid)
        waited = sum(thread.waited for thread in self._threads.values()) - before

        now = time.monotonic()
        self.seconds += max(now - self._looked - waited, 0.0)
        self._looked = now

    def moments(self, seconds: float, every: float) -> Iterator[None]:
        """Yield at intervals until these seconds of own time have passed."""
        self.look()
        end = self.seconds + seconds
        while self.seconds < end:
            yield
            time.sleep(every)
            if time.monotonic() - self._looked >= min(LOOK, seconds / 10):
                self.look()


class Attempt:
    """A started run; use it in a ``with``, which leaves no process behind."""

    def __init__(self, setting: Setting, sandbox: Sandbox, slow: bool = False) -> None:
        self.setting, self.sandbox, self.run_dir = setting, sandbox, setting.folder(sandbox.runs)
        self.mark, self.pids = uuid.uuid4().hex, set[int]()
        self._files = [sandbox.folder / f"{name}{self.mark}" for name in ("out", "err")]
        sandbox.validation.unlink(missing_ok=True)
        with self._files[0].open("wb") as out, self._files[1].open("wb") as err:
            streams = dict(stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            options = dict(cwd=ROOT, env=sandbox.environment(self.mark, slow), start_new_session=True)
            self.process = subprocess.Popen(setting.command(sandbox.runs), **streams, **options)
        self.time = OwnTime(self.alive)

    def __enter__(self) -> "Attempt":
        return self

    def __exit__(self, *_: object) -> None:
        self.time.look()
        self.sandbox.cpu += self.time.cpu
        self._kill(signal.SIGKILL)
        self.process.wait()

    def _kill(self, number: signal.Signals) -> None:
        for pid in self.alive():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    @property
    def words(self) -> tuple[str, str]:
        """The text of stdout and of stderr so far."""
        out, err = (path.read_text(errors="replace") for path in self._files)
        return out, err

    def alive(self) -> list[int]:
        """Return the process ids of the run, wherever in the process tree, without zombies."""
        found = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and self._ours(path)]
        self.pids.update(found)
        return found

    def _ours(self, path: Path) -> bool:
        with suppress(OSError):
            marked = f"FAULTS_MARK={self.mark}".encode() in (path / "environ").read_bytes()
            return marked and (path / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        return False

    def wait_for(self, event: Callable[["Attempt"], bool], every: float = 0.004) -> bool:
        """Wait for an event; return ``False`` if the run ends or ``END`` seconds of its own time pass before it."""
        for _ in self.time.moments(END, every):
            if cancelled.is_set():
                raise Cancelled
            if self.process.poll() is not None:
                return False
            if event(self):
                return True
        return False

    def wait(self) -> int | None:
        """Return the exit status, negative for a signal; ``None`` (stacks on stderr) if it does not end in time."""
        self.wait_for(lambda _: False, every=0.05)
        if (status := self.process.poll()) is None:
            self._kill(signal.SIGABRT)  # with faulthandler
            time.sleep(1)
        return status


def _state(state: State) -> Callable[[Attempt], bool]:
    def reached(attempt: Attempt) -> bool:
        status = read_status(attempt.run_dir)
        return status is not None and (status.state, status.pid) == (state, attempt.process.pid)

    return reached


def _imports(attempt: Attempt) -> bool:
    with suppress(OSError):
        return "libtorch" in Path(f"/proc/{attempt.process.pid}/maps").read_text()
    return False


def _writes(name: str, what: bytes = b"") -> Callable[[Attempt], bool]:
    def writes(attempt: Attempt) -> bool:
        with suppress(FileNotFoundError):
            part = attempt.run_dir / f".{name}.part"
            return part.exists() and (not what or what in part.read_bytes())
        return False

    return writes


# Phases in the order of a run, each recognised by its first event.
PHASES: dict[str, Callable[[Attempt], bool]] = {
    "imports": _imports,
    "starting": _state("starting"),
    "preparing data": lambda run: _state("preparing data")(run) and any(run.sandbox.data.rglob("*.mp4")),
    "training": _state("training"),
    "checkpoint write": _writes("last.ckpt"),
    "validation": lambda attempt: attempt.sandbox.validation.exists(),
    "after validation": lambda attempt: any(attempt.run_dir.glob("best/*.ckpt")),
    "test": _state("testing"),
    "writing": _state("writing"),
    "result write": _writes("run.json", b'"result"'),
}
