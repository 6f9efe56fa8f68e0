"""Damage to files of a run that stopped, or that is finished."""

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.faults.place import Place

Damage = Callable[[Path], None]


def truncate(path: Path) -> None:
    """Keep the first half."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    """Keep nothing."""
    path.write_bytes(b"")


def garbage(path: Path) -> None:
    """Other bytes, as many."""
    path.write_bytes(b"\x9f\x00garbage\n" * (path.stat().st_size // 10 + 1))


def nested(path: Path) -> None:
    """JSON too deep to be read."""
    path.write_text("[" * 100_000)


def flip(path: Path) -> None:
    """Change one byte inside the largest tensor."""
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda info: info.file_size)
    content = bytearray(path.read_bytes())
    content[largest.header_offset + 256 + largest.file_size // 2] ^= 1
    path.write_bytes(content)


def trap(path: Path) -> None:
    """A checkpoint whose reading would run code that leaves a file behind, in :func:`trapped`."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if name.endswith("data.pkl"))
    members[name] = pickle.dumps(_Trap(str(place_of(path) / "sprung")), protocol=2)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def trapped(place: Place) -> bool:
    """Whether code of a checkpoint was run."""
    return (place.folder / "sprung").exists()


def place_of(path: Path) -> Path:
    """The folder of the place that a run's file is in."""
    return next(parent.parent for parent in path.parents if parent.name == "runs")


class _Trap:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, "w")


def _each(damage: Damage, *patterns: str) -> Callable[[Path], bool]:
    def do(run_dir: Path) -> bool:
        files = [path for pattern in patterns for path in run_dir.glob(pattern) if path.is_file()]
        for path in files:
            damage(path)
        return bool(files)

    return do


def _make(name: str, text: str) -> Callable[[Path], bool]:
    def do(run_dir: Path) -> bool:
        (run_dir / name).write_text(text)
        return True

    return do


# each says whether there was something to damage
DAMAGES: dict[str, Callable[[Path], bool]] = {
    "last.ckpt truncated": _each(truncate, "last.ckpt"),
    "last.ckpt empty": _each(empty, "last.ckpt"),
    "last.ckpt garbage": _each(garbage, "last.ckpt"),
    "last.ckpt: a byte flipped": _each(flip, "last.ckpt"),
    "last.ckpt malicious": _each(trap, "last.ckpt"),
    "both checkpoints malicious": _each(trap, "last.ckpt", "previous.ckpt"),
    "both checkpoints empty": _each(empty, "last.ckpt", "previous.ckpt"),
    "config.yaml garbage": _each(garbage, "config.yaml"),
    "config.yaml empty": _each(empty, "config.yaml"),
    "curves.csv garbage": _each(garbage, "curves.csv"),
    "status.json garbage": _each(garbage, "status.json"),
    "status.json nested": _make("status.json", "[" * 100_000),
    "changes.json garbage": _make("changes.json", "garbage"),
    "W&B folder garbage": _each(garbage, "wandb/**/*"),
    "result.json truncated": _each(truncate, "result.json"),
    "result.json empty": _each(empty, "result.json"),
    "result.json nested": _each(nested, "result.json"),
    "predictions.npz truncated": _each(truncate, "predictions.npz"),
    "predictions.npz garbage": _each(garbage, "predictions.npz"),
}
