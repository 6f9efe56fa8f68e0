"""Checkpoints by their file, their run's folder, or their row of a table."""

from pathlib import Path

from lit_video.errors import OptionError
from lit_video.runs.files import RUN, has_result, seed_of
from lit_video.runs.results import read_result

RUNS, BEST = Path("runs"), "best"  # BEST: folder of Lightning's ModelCheckpoint in a run
WAYS = "give a run's last.ckpt, its folder, or TABLE/ROW of runs/"


def find_checkpoint(text: str) -> Path:
    """Return the file of a checkpoint.

    Args:
        text: the file; the folder of a run, of which it is the checkpoint that was tested; ``TABLE/ROW`` of ``runs/``,
            its first seed.
    """
    path = Path(text)
    if path.is_dir():
        return _of_run(path)
    if path.exists():
        return path
    named = len(path.parts) == 2 and not path.is_absolute()
    found = RUNS.glob(f"{path.parts[0]}/*/{path.parts[1]}/seed*") if named else ()
    runs = [run for run in found if seed_of(run) is not None and has_result(run)]
    if not runs:
        raise OptionError("ckpt", f"{text}: no such file; {WAYS}")
    scales = sorted({run.parents[1].name for run in runs})
    if len(scales) > 1:
        raise OptionError("ckpt", f"{text}: was run at several scales ({', '.join(scales)}); give a run's folder")
    return _of_run(min(runs, key=lambda run: seed_of(run) or 0))


def settings_of(checkpoint: Path) -> Path:
    """Return ``run.json`` of a checkpoint's run; it may not exist. A name with ``{val/loss}`` makes folders."""
    folders = [parent.parent for parent in checkpoint.parents if parent.name == BEST]
    records = [folder / RUN for folder in (checkpoint.parent, *folders)]
    return next((record for record in records if record.is_file()), records[0])


def tested(folder: Path) -> Path:
    """Return the file of the checkpoint that a run was tested with, the last of one that is not finished."""
    result = read_result(folder, anywhere=True)
    return folder / (result["weights"]["file"] if result and "weights" in result else "last.ckpt")


def _of_run(folder: Path) -> Path:
    path = tested(folder)
    if not path.is_file() and (exported := folder / "model.safetensors").is_file():
        return exported
    if not path.is_file():
        raise OptionError("ckpt", f"{folder}: holds no checkpoint; {WAYS}")
    return path
