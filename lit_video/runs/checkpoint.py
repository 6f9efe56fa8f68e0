"""Checkpoints by their file or their run's folder."""

from pathlib import Path

from lit_video.errors import OptionError
from lit_video.runs.files import RUN
from lit_video.runs.results import read_result

BEST = "best"  # folder of Lightning's ModelCheckpoint in a run
WAYS = "give a run's last.ckpt or its folder"


def find_checkpoint(text: str) -> Path:
    """Return the file of a checkpoint: itself, or the one that the run of a folder was tested with."""
    path = Path(text)
    if not path.exists():
        raise OptionError("ckpt", f"{text}: no such file; {WAYS}")
    if not path.is_dir():
        return path
    for checkpoint in (tested(path), path / "model.safetensors"):
        if checkpoint.is_file():
            return checkpoint
    raise OptionError("ckpt", f"{text}: holds no checkpoint; {WAYS}")


def settings_of(checkpoint: Path) -> Path:
    """Return ``run.json`` of a checkpoint's run; it may not exist. A name with ``{val/loss}`` makes folders."""
    folders = [parent.parent for parent in checkpoint.parents if parent.name == BEST]
    records = [folder / RUN for folder in (checkpoint.parent, *folders)]
    return next((record for record in records if record.is_file()), records[0])


def tested(folder: Path) -> Path:
    """Return the file of the checkpoint that a run was tested with, the last of one that is not finished."""
    result = read_result(folder, anywhere=True)
    return folder / (result["weights"]["file"] if result and "weights" in result else "last.ckpt")
