"""Checkpoint of a run: the one that was tested, or that a user names."""

from pathlib import Path

from lit_video.errors import OptionError
from lit_video.runs.folder import RUN, has_result, read_finished, run_folders
from lit_video.utils.files import user_path

LAST = "last.ckpt"
BEST = "best"  # subfolder for ModelCheckpoint's files
KEPT = "kept.txt"  # names the run of the model to use, beside an experiment whose first answer was made a model too
WAYS = "give a run's last.ckpt or its folder"


def find_checkpoint(text: str) -> Path:
    """Return a checkpoint's file; for a run's folder, or one that holds one run, the checkpoint that was tested."""
    path = user_path(text)
    if not path.exists():
        raise OptionError("ckpt", f"{text}: no such file; {WAYS}")
    if not path.is_dir():
        return path
    for checkpoint in (tested(path), path / "model.safetensors"):
        if checkpoint.is_file():
            return checkpoint

    below = _models_below(path)
    if len(below) > 1:
        raise OptionError("ckpt", f"{text}: holds {len(below)} runs; give one of them, such as {below[0]}")
    if not below:
        raise OptionError("ckpt", f"{text}: holds no checkpoint; {WAYS}")
    return tested(below[0])


def run_or_file(path: Path) -> Path:
    """Return the tested checkpoint of a run's folder, or of one that holds one run, as ``own/NAME``; else the path."""
    if not path.is_dir():
        return path
    runs = [path] if (path / RUN).is_file() else _models_below(path)
    return tested(runs[0]) if len(runs) == 1 else path


def _models_below(folder: Path) -> list[Path]:
    """List the finished runs below a folder that have a checkpoint; of a cross-validation, the model of all videos.

    Of an experiment and its first answer only the run that was kept.
    """
    if (folder / KEPT).is_file():
        return [folder / (folder / KEPT).read_text(encoding="utf-8").strip()]
    runs = {run: read_finished(run) for run in run_folders(folder) if tested(run).is_file()}
    of_all_videos = {run for run, finished in runs.items() if finished and finished.result.folds}
    cross_validated = {run.parents[1] for run in of_all_videos}
    return [run for run in runs if run in of_all_videos or run.parents[1] not in cross_validated]


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
    run = record_beside(file).parent
    if not (run / RUN).exists():
        return file.name
    kind = "tested" if has_result(run) else "last"
    return f"{'the run' if run == folder else run}'s {kind} checkpoint, {file.name}"
