"""The phases of a run, each by its own first event."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.faults.attempt import Attempt
from lit_video.tables.status import State, read_status


def _state(*states: State) -> Callable[[Attempt], bool]:
    def reached(attempt: Attempt) -> bool:
        status = read_status(attempt.run_dir)
        return status is not None and status.state in states and status.pid == attempt.process.pid

    return reached


def _imports(attempt: Attempt) -> bool:
    try:
        return "libtorch" in Path(f"/proc/{attempt.process.pid}/maps").read_text()
    except OSError:
        return False


def _renders(attempt: Attempt) -> bool:
    return _state("preparing data")(attempt) and any(attempt.place.data.rglob("*.mp4"))


def _writes(name: str) -> Callable[[Attempt], bool]:
    return lambda attempt: (attempt.run_dir / f".{name}.part").exists()


# in the order of a run
PHASES: dict[str, Callable[[Attempt], bool]] = {
    "imports": _imports,
    "starting": _state("starting"),
    "preparing data": _renders,
    "training": _state("training"),
    "checkpoint write": _writes("last.ckpt"),
    "validation": lambda attempt: attempt.place.validation.exists(),
    "test": _state("testing"),
    "writing": _state("writing"),
    "result write": _writes("result.json"),
}
