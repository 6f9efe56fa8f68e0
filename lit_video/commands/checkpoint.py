"""The argument ``--ckpt``: a checkpoint's file, a run's folder, or a row of a table."""

from collections.abc import Sequence
from pathlib import Path

from lit_video.errors import UserError
from lit_video.tables.results import read_result

RUNS, BEST = Path("runs"), "best"  # of a run, the folder of Lightning's ModelCheckpoint
WAYS = "give a run's last.ckpt, its folder, or TABLE/ROW of runs/"


def find_checkpoint(text: str) -> Path:
    """The file of a checkpoint.

    Args:
        text: the file; the folder of a run, of which it is the checkpoint that was tested; ``TABLE/ROW`` or
            ``TABLE/SCALE/ROW/seedK`` of ``runs/``, the first seed if none is named.

    Raises:
        UserError: there is none, or several.
    """
    path = Path(text)
    if path.is_dir():
        return _of_run(path)
    if path.exists() or path.suffix == ".ckpt":
        return path
    runs = _named(path.parts)
    if not runs:
        raise UserError(f"--ckpt: {text}: no such file; {WAYS}")
    scales = sorted({run.parents[1].name for run in runs})
    if len(scales) > 1:
        raise UserError(f"--ckpt: {text}: was run at several scales ({', '.join(scales)}); give TABLE/SCALE/ROW/seedK")
    return _of_run(min(runs, key=lambda run: int(run.name.removeprefix("seed"))))


def settings_of(checkpoint: Path) -> Path:
    """``config.yaml`` of a checkpoint's run; it may not exist."""
    folder = checkpoint.parent.parent if checkpoint.parent.name == BEST else checkpoint.parent
    return folder / "config.yaml"


def run_names() -> list[str]:
    """The finished runs of ``runs/`` as ``TABLE/ROW``."""
    return sorted({f"{path.parts[-5]}/{path.parts[-3]}" for path in RUNS.glob("*/*/*/seed*/result.json")})


def _named(parts: Sequence[str]) -> list[Path]:
    """Folders of finished runs by the names of table and row."""
    if len(parts) != 2 and len(parts) != 4:
        return []
    pattern = f"{parts[0]}/*/{parts[1]}/seed*" if len(parts) == 2 else "/".join(parts)
    return [path.parent for path in RUNS.glob(f"{pattern}/result.json")]


def _of_run(folder: Path) -> Path:
    result = read_result(folder)
    path = folder / (result["weights"]["file"] if result and "weights" in result else "last.ckpt")
    if not path.is_file():
        raise UserError(f"--ckpt: {folder}: holds no checkpoint; {WAYS}")
    return path
