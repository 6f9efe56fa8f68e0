"""A run under faults: its folder, its command, its processes, and the phases that it goes through."""

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

from lit_video.runs.results import State, read_status

ROOT = Path(__file__).parents[2]
TINY = [
    "--data.pairs=[2,1,1]",
    "--data.skills=[drift,zoom,rotation,meeting]",
    "--data.frames=4",
    "--data.image_size=16",
]
TINY += [
    "--data.num_workers=1",
    "--data.keep_gb=0",
    "--model.image_weights=null",
    "--model.optimization.optimizer=adamw",
]
TINY += ["--model.size.width=16", "--model.size.depth=2", "--model.size.heads=2", "--trainer.log_every_n_steps=2"]
TINY += ["--checkpoint_every=0.5", "--trainer.callbacks+=benchmarks.faults.marks.MarkValidation"]
TWO_RANKS = ["--data.batch_size=2", "--trainer.devices=2", "--trainer.strategy=ddp", "--trainer.accelerator=cpu"]
END = 180.0  # seconds in which a run must end
# what a run may leave in TMPDIR: W&B's and PyTorch's by fixed names, and what killed processes cannot remove
KEPT = re.compile("filler|torchinductor|pymp-|wandb-|tmp.*wandb")
cancelled = threading.Event()  # set when the harness is to end


class Cancelled(Exception):
    """The harness is to end."""


def mount(*command: object) -> None:
    """Run ``mount`` or ``umount``, which needs root; raises OSError where it is not allowed, or fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.stderr.strip())


class Place:
    """A folder for one run, with all that it may write; the file ``clock`` shifts its time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock, self.validation = folder, folder / "clock", folder / "validation"
        self.runs, self.data, self.tmp, self.home = (folder / name for name in ("runs", "data", "tmp", "home"))
        self.mounts: list[Path] = []

    def environment(self, mark: str, slow: bool) -> dict[str, str]:
        """Variables of a run: ``mark`` finds its processes; a ``slow`` disk and validation let faults hit them."""
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
        """Files that the run left outside its folder and its data."""
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
def new_place(data: Path) -> Iterator[Place]:
    """A place that is removed at the end, mounts and all; with a copy of data, if there are any."""
    place = Place(Path(mkdtemp(prefix="lit_video_soak-")))
    for folder in (place.runs, place.tmp, place.home):
        folder.mkdir()
    try:
        if data.exists():
            shutil.copytree(data, place.data)
        yield place
    finally:
        for folder in reversed(place.mounts):
            with suppress(OSError):
                mount("umount", "-l", folder)
        shutil.rmtree(place.folder, ignore_errors=True)


@dataclass(frozen=True)
class Setting:
    """What is run: a row of X-ViT's Table 1, made tiny, by one or two processes, with W&B offline or without it."""

    row: str = "tw1"
    seed: int = 0
    ranks: int = 1
    wandb: bool = False
    flags: tuple[str, ...] = ()

    def command(self, runs: Path) -> list[str]:
        """The command line."""
        ours = ["--config", "experiments/ablation_tw.yaml", "--row", self.row, "--seeds", str(self.seed), *TINY]
        ours += TWO_RANKS if self.ranks == 2 else ["--data.batch_size=4"]
        ours += [] if self.wandb else ["--trainer.logger=false"]
        return [sys.executable, "-m", "lit_video", "fit", *ours, *self.flags, "--runs", str(runs)]

    def folder(self, runs: Path) -> Path:
        """The run's folder."""
        return runs / "ablation_tw/embedded" / self.row / f"seed{self.seed}"


class Attempt:
    """A started run; use it in a ``with``, which leaves no process behind."""

    def __init__(self, setting: Setting, place: Place, slow: bool = False) -> None:
        self.setting, self.place, self.run_dir = setting, place, setting.folder(place.runs)
        self.mark, self.pids = uuid.uuid4().hex, set[int]()
        self._files = [place.folder / f"{name}{self.mark}" for name in ("out", "err")]
        place.validation.unlink(missing_ok=True)
        with self._files[0].open("wb") as out, self._files[1].open("wb") as err:
            streams = dict(stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            options = dict(cwd=ROOT, env=place.environment(self.mark, slow), start_new_session=True)
            self.process = subprocess.Popen(setting.command(place.runs), **streams, **options)

    def __enter__(self) -> "Attempt":
        return self

    def __exit__(self, *_: object) -> None:
        self._kill(signal.SIGKILL)
        self.process.wait()

    def _kill(self, number: signal.Signals) -> None:
        for pid in self.alive():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    @property
    def words(self) -> tuple[str, str]:
        """What it wrote to stdout and to stderr so far."""
        out, err = (path.read_text(errors="replace") for path in self._files)
        return out, err

    def alive(self) -> list[int]:
        """Its processes, wherever they hang in the tree; zombies are none."""
        found = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and self._ours(path)]
        self.pids.update(found)
        return found

    def _ours(self, path: Path) -> bool:
        with suppress(OSError):
            marked = f"FAULTS_MARK={self.mark}".encode() in (path / "environ").read_bytes()
            return marked and (path / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        return False

    def wait_for(self, event: Callable[["Attempt"], bool], every: float = 0.004) -> bool:
        """Wait for an event; ``False`` if the run ends, or too much time passes, before it."""
        start = time.monotonic()
        while self.process.poll() is None and time.monotonic() - start < END:
            if cancelled.is_set():
                raise Cancelled
            if event(self):
                return True
            time.sleep(every)
        return False

    def wait(self) -> int | None:
        """Exit status, negative for a signal; ``None`` if it does not end in time, with its stacks on stderr."""
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


# in the order of a run, each by its own first event
PHASES: dict[str, Callable[[Attempt], bool]] = {
    "imports": _imports,
    "starting": _state("starting"),
    "preparing data": lambda run: _state("preparing data")(run) and any(run.place.data.rglob("*.mp4")),
    "training": _state("training"),
    "checkpoint write": _writes("last.ckpt"),
    "validation": lambda attempt: attempt.place.validation.exists(),
    "test": _state("testing"),
    "writing": _state("writing"),
    "result write": _writes("run.json", b'"result"'),
}
