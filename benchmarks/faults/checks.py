"""What is looked at after a run has ended: its status, its words, what it left, and its result beside the right one."""

import json
import re
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from benchmarks.faults.runs import END, ROOT, Attempt

GRACE = 6.0  # seconds in which processes of a killed run must have noticed


Outcome = dict[str, Any]  # metrics, steps and tested videos of result.json, and the weights that it names


def read_outcome(run_dir: Path) -> Outcome | None:
    """The outcome of a run; ``None`` without ``result.json``; whatever a damaged file raises."""
    path = run_dir / "result.json"
    if not path.exists():
        return None
    result: dict[str, Any] = json.loads(path.read_text())
    weights = torch.load(run_dir / result["weights"]["file"], map_location="cpu", weights_only=True)["state_dict"]
    return {"metrics": result["metrics"], "steps": result["steps"], "videos": result["test_videos"], "weights": weights}


def differences(ours: Outcome, right: Outcome) -> list[str]:
    """How an outcome differs from the right one, bit by bit."""
    names = [name for name in ("metrics", "steps", "videos") if ours[name] != right[name]]
    found, weights = [f"{name} {ours[name]}, not {right[name]}" for name in names], right["weights"]
    if ours["weights"].keys() != weights.keys():
        return [*found, "other names of weights"]
    other = [name for name, tensor in ours["weights"].items() if not torch.equal(tensor, weights[name])]
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


def problems_of(attempt: Attempt, status: int | None, before: bool = False) -> list[str]:
    """What is wrong with the end of a run; ``before`` it there was a checkpoint to go on from."""
    if status is None:
        return [f"did not end within {END:.0f} s"]
    over = before and not went_on(attempt)
    found = leftovers(attempt) + wrong_words(status, attempt.out, attempt.err)
    return found + (["started over, though there was a checkpoint"] if over and status == 0 else [])


def lock_held(run_dir: Path) -> bool:
    """Whether a process holds the folder of a run."""
    with suppress(OSError):  # of a disk that is still read-only; Timeout is one too
        try:
            if (run_dir / "lock").exists():
                with FileLock(run_dir / "lock", timeout=0):
                    pass
        except Timeout:
            return True
    return False


def has_checkpoint(run_dir: Path) -> bool:
    """Whether there is a checkpoint that a run can go on from."""
    return any((run_dir / name).exists() for name in ("last.ckpt", "previous.ckpt"))


def went_on(attempt: Attempt) -> bool:
    """Whether a run went on from what was there, or said why not."""
    words = ("going on from", "finished, skipped", "training starts over", "damaged; delete it", "damaged: delete it")
    return any(each in attempt.out + attempt.err for each in words)


def last_lines(attempt: Attempt, number: int = 90) -> str:
    """The last lines of stderr, or else of what it printed, cut, and without the folders of this machine."""
    text = attempt.err.strip() or attempt.out.strip()
    for folder in (attempt.place.folder, ROOT, sys.base_prefix):
        text = text.replace(f"{folder}/", "")
    return "\n".join(line[:300] for line in text.splitlines()[-number:])


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:60]
    return str(pid)
