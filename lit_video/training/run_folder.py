"""The folder of a run: one owner, atomic files, a checkpoint that can be trusted."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from lit_video.errors import UserError
from lit_video.utils.class_paths import class_name
from lit_video.utils.yaml_files import read_yaml

# settings that change neither the model nor the numbers, by the start of their key
FREE = (
    "trainer.logger",
    "trainer.callbacks",
    "trainer.accelerator",
    "trainer.enable_",
    "trainer.log_every",
    "trainer.profiler",
    "trainer.default_root_dir",
    "data.init_args.num_workers",
    "data.init_args.root",
    "data.init_args.manifest",
    "checkpoint_every",
)


def writable(run_dir: Path) -> None:
    """Make the folder and try to write to it.

    Raises:
        UserError: it cannot be written: read-only, full, or a file is in the way.
    """
    probe = run_dir / f".probe{os.getpid()}"
    with disk_errors(run_dir):
        run_dir.mkdir(parents=True, exist_ok=True)
        try:
            with probe.open("wb") as file:
                file.write(bytes(1 << 20))
                file.flush()
                os.fsync(file.fileno())
        finally:
            probe.unlink(missing_ok=True)


@contextmanager
def disk_errors(run_dir: Path) -> Iterator[None]:
    """Report a disk's refusal in one line."""
    try:
        yield
    except OSError as error:
        refusals = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR}
        if error.errno not in refusals:
            raise
        raise UserError(f"--runs: cannot write {run_dir} ({error.strerror}); free it or give another --runs") from error


@contextmanager
def locked(run_dir: Path, name: str) -> Iterator[None]:
    """Lock the folder for this process alone; the lock ends with the process.

    Raises:
        UserError: another process holds it.
    """
    try:
        with FileLock(run_dir / "lock", timeout=0):
            yield
    except Timeout:
        raise UserError(
            f"{name}: another process is running it (it holds {run_dir / 'lock'}); wait or stop it"
        ) from None


def usable_checkpoint(run_dir: Path, owner: bool) -> Path | None:
    """``last.ckpt`` if it is there and whole; a damaged one is renamed by the process that owns the folder.

    The other processes get the same answer, whether they read it before or after it is renamed.
    The checkpoint is the run's own, written by Lightning.
    """
    path = run_dir / "last.ckpt"
    if not path.exists():
        return None
    try:
        torch.load(path, map_location="cpu", weights_only=False)["state_dict"]
    except Exception as error:  # a damaged pickle can raise anything
        if not owner:
            return None
        renamed = path.with_name("last.damaged.ckpt")
        path.replace(renamed)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        print(f"{path}: damaged ({reason[:80]}); renamed to {renamed.name}, training starts over", flush=True)
        return None
    if owner:
        print(f"going on from {path}", flush=True)
    return path


def same_settings(run_dir: Path, config: dict[str, Any], where: str) -> None:
    """Refuse to take a run's folder for a run with other settings.

    Raises:
        UserError: the folder holds results or a checkpoint made with other settings; names the first that differs.
    """
    stored = run_dir / "config.yaml"
    if not stored.exists() or not any((run_dir / name).exists() for name in ("last.ckpt", "result.json")):
        return
    old, new = flatten(read_yaml(stored)), flatten(config)
    for key in sorted(old.keys() | new.keys()):
        if not key.startswith(FREE) and old.get(key) != new.get(key):
            raise UserError(
                f"{where}: {run_dir} was made with {key} = {old.get(key)}, now it is {new.get(key)}; "
                "give another --runs, or delete that folder"
            )


def flatten(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested keys joined by dots; classes by the path that they are compared by."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict) and value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = class_name(value) if key == "class_path" else value
    return flat
