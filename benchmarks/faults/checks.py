"""What is looked at after a run has ended: its status, its words, what it left, and its result beside the right one."""

import json
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from benchmarks.faults.attempt import Attempt

GRACE = 6.0  # seconds in which processes of a killed run must have noticed


@dataclass
class Outcome:
    """A result, and the weights that it names.

    Args:
        metrics: of ``result.json``.
        steps: of ``result.json``.
        videos: that were tested.
        weights: of ``last.ckpt``.
    """

    metrics: dict[str, float]
    steps: int
    videos: int
    weights: dict[str, torch.Tensor]


def read_outcome(run_dir: Path) -> Outcome | None:
    """The outcome of a run; ``None`` without ``result.json``.

    Raises:
        Exception: the result or its weights cannot be read.
    """
    path = run_dir / "result.json"
    if not path.exists():
        return None
    result: dict[str, Any] = json.loads(path.read_text())
    named = run_dir / result["weights"]["file"]
    weights = torch.load(named, map_location="cpu", weights_only=True)["state_dict"]
    return Outcome(result["metrics"], result["steps"], result["test_videos"], weights)


def differences(ours: Outcome, right: Outcome) -> list[str]:
    """How an outcome differs from the right one, bit by bit."""
    found = []
    for name in ("metrics", "steps", "videos"):
        was, expected = getattr(ours, name), getattr(right, name)
        if was != expected:
            found.append(f"{name} {was}, not {expected}")
    if ours.weights.keys() != right.weights.keys():
        return [*found, "other names of weights"]
    other = [name for name, tensor in ours.weights.items() if not torch.equal(tensor, right.weights[name])]
    return [*found, f"{len(other)} weights differ, {other[0]} first"] if other else found


def wrong_words(status: int | None, out: str, err: str) -> list[str]:
    """What is wrong with what a run said at its end."""
    if status == -signal.SIGKILL:
        return []  # of a process that could say nothing; a loader's worker may notice in the middle of sending to it
    found = []
    # what libraries cannot do at the exit of a process without memory is ignored, and printed
    if (out + err).count("Traceback (most recent call last)") > err.count("Exception ignored in"):
        found.append("traceback")
    errors = re.findall(r"^error: .*", err, re.M)
    causes = [line for line in errors if "another process of th" not in line]  # a rank says that of the one that failed
    errors = causes or errors[:1]
    if status in (1, 2) and len(errors) != 1:
        found.append(f"exit status {status} with {len(errors)} lines of error")
    if status in (75, 130, 143) and "interrupted" not in err and "stopped by" not in out + err:
        found.append(f"exit status {status} without a line")
    return found


def leftovers(attempt: Attempt) -> list[str]:
    """Processes, shared memory, lock and files that a run left behind."""
    start = time.monotonic()
    while (alive := attempt.alive()) and time.monotonic() - start < GRACE:
        time.sleep(0.1)
    found = [f"process {_name(pid)} lives on" for pid in alive]
    shared = [path.name for path in Path("/dev/shm").iterdir()]
    found += [f"/dev/shm/{name} left" for name in shared if set(re.findall(r"\d+", name)) & set(map(str, attempt.pids))]
    if not alive and lock_held(attempt.run_dir):
        found.append("lock held")
    return found + [f"{path} left" for path in attempt.place.strays()]


def lock_held(run_dir: Path) -> bool:
    """Whether a process holds the folder of a run."""
    try:
        if (run_dir / "lock").exists():
            with FileLock(run_dir / "lock", timeout=0):
                pass
    except Timeout:
        return True
    except OSError:
        pass  # of a disk that is still read-only
    return False


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:60]
    except OSError:
        return str(pid)
