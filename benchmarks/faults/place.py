"""A folder for one run under faults, with all that the run may write: runs, data, TMPDIR and HOME."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

from benchmarks.faults.disks import unmount

ROOT = Path(__file__).parents[2]


@dataclass
class Place:
    """Where a run works.

    Args:
        folder: of everything.
        mounts: that faults made, in order.
    """

    folder: Path
    mounts: list[Path] = field(default_factory=list)

    @property
    def runs(self) -> Path:
        """The run's ``--runs``."""
        return self.folder / "runs"

    @property
    def data(self) -> Path:
        """Its data root."""
        return self.folder / "data"

    @property
    def tmp(self) -> Path:
        """Its TMPDIR."""
        return self.folder / "tmp"

    @property
    def home(self) -> Path:
        """Its HOME."""
        return self.folder / "home"

    @property
    def clock(self) -> Path:
        """The file that shifts its clock."""
        return self.folder / "clock"

    @property
    def validation(self) -> Path:
        """The file that it touches in a validation."""
        return self.folder / "validation"

    def environment(self, mark: str, slow: bool) -> dict[str, str]:
        """Of a run's process; ``mark`` is inherited by all that it starts.

        Args:
            mark: that processes of the run are found by.
            slow: whether disk and validation take their time.
        """
        drawing = {"MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR") or str(Path("~/.cache/matplotlib").expanduser())}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "WANDB_"))}
        paths = f"{ROOT / 'benchmarks/faults/preload'}:{ROOT}"
        ours = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "WANDB_SILENT": "true", "FAULTS_MARK": mark}
        folders = {"LIT_VIDEO_DATA": self.data, "TMPDIR": self.tmp, "HOME": self.home, "FAULTS_CLOCK": self.clock}
        delays = {"FAULTS_SLOW": "0.3", "FAULTS_VALIDATION": str(self.validation)} if slow else {}
        return kept | drawing | ours | {name: str(path) for name, path in folders.items()} | delays

    def strays(self) -> list[str]:
        """What the run has left outside its folder and its data.

        But for W&B's debug logs, what PyTorch keeps in TMPDIR by a fixed name, and what killed processes cannot remove.
        """
        found = [path for path in self.home.rglob("*") if path.is_file() and ".cache/wandb/logs" not in str(path)]
        kept = re.compile("filler|torchinductor|pymp-|wandb-|tmp.*wandb")
        found += [path for path in self.tmp.iterdir() if not kept.match(path.name)]
        return [str(path.relative_to(self.folder)) for path in found]


@contextmanager
def new_place(data: Path | None) -> Iterator[Place]:
    """A place that is removed at the end, mounts and all; with a copy of data, or none."""
    place = Place(Path(mkdtemp(prefix="lit_video_soak-")))
    for folder in (place.runs, place.tmp, place.home):
        folder.mkdir()
    try:
        if data:
            shutil.copytree(data, place.data)
        yield place
    finally:
        for mount in reversed(place.mounts):
            with suppress(OSError):
                unmount(mount)
        shutil.rmtree(place.folder, ignore_errors=True)
