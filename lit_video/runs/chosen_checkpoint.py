"""Checkpoint of a run: the one that was tested, or that a user names."""

from pathlib import Path

from lit_video.errors import OptionError
from lit_video.runs.finished import read_finished
from lit_video.runs.folder import RUN, has_result
from lit_video.utils.files import user_path

LAST = "last.ckpt"
BEST = "best"  # subfolder for ModelCheckpoint's files
WAYS = "give a run's last.ckpt or its folder"


def find_checkpoint(text: str) -> Path:
    """Return a checkpoint's file; for a run's folder, the checkpoint that was tested."""
    path = user_path(text)
    if not path.exists():
        raise OptionError("ckpt", f"{text}: no such file; {WAYS}")
    if not path.is_dir():
        return path
    for checkpoint in (tested(path), path / "model.safetensors"):
        if checkpoint.is_file():
            return checkpoint
    raise OptionError("ckpt", f"{text}: holds no checkpoint; {WAYS}")


def record_beside(checkpoint: Path) -> Path:
    """Return the path of a checkpoint's ``run.json``, which may not exist."""
    records = [checkpoint.parent / RUN]
    for folder in checkpoint.parents:  # not always the first, because a file name with {val/loss} makes a subfolder
        if folder.name == BEST:
            records.append(folder.with_name(RUN))
    return next(filter(Path.is_file, records), records[0])


def tested(folder: Path) -> Path:
    """Return the checkpoint whose weights a run's test used; for an unfinished run, the last one."""
    run = read_finished(folder, anywhere=True)
    return folder / (run.result.weights.file if run else LAST)


def checkpoint_in_words(folder: Path, file: Path) -> str:
    """Say which file was chosen in a folder: a run's tested checkpoint, or the last one of an unfinished run."""
    if not (folder / RUN).exists():
        return file.name
    kind = "tested" if has_result(folder) else "last"
    return f"the run's {kind} checkpoint, {file.name}"
