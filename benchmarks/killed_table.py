"""A table that is killed at random moments: two rows with two seeds by ``fit --jobs 2``.

    python -m benchmarks.killed_table --kills 10

SIGKILL ends all processes (as a machine that goes down), the queue alone, or one run; then the same command is given
again. A table that is finished before the last kill is compared, and begun anew. Exit status 1 if metrics or a weight
of a run differ in a bit from those of an undisturbed table, or if the command does not end with 0.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.faults.cells import Outcome, differences, last_lines, read_outcome
from benchmarks.faults.runs import Attempt, Place, Setting, new_place
from lit_video.tables.status import read_status

ROWS, SEEDS = ("tw1", "tw2"), (0, 1)
LONGER = ("--trainer.max_epochs=8", "--data.pairs=[8,2,2]")
TABLE = Setting(",".join(ROWS), flags=(*LONGER, f"--seeds={','.join(map(str, SEEDS))}", "--jobs=2"))
RUNS = [Setting(row, seed) for row in ROWS for seed in SEEDS]
VICTIMS = ("all processes", "all processes", "the queue", "one run")
TRIES, LONGEST = 5, 900.0  # seconds of an undisturbed table


def outcomes(place: Place) -> list[Outcome | None]:
    """The outcome of every run, ``None`` without one."""
    return [read_outcome(run.folder(place.runs)) for run in RUNS]


def moment(place: Place) -> str:
    """What each run that has begun is doing."""
    seen = [(run, read_status(run.folder(place.runs))) for run in RUNS]
    return ", ".join(f"{run.row}/{run.seed} {status.state} {status.step}" for run, status in seen if status)


def kill(attempt: Attempt, victim: str) -> None:
    """Kill processes; of one run the first, whose workers then end by themselves."""
    queue = attempt.process.pid
    children = Path(f"/proc/{queue}/task/{queue}/children").read_text().split()
    pids = {"all processes": attempt.alive(), "the queue": [queue], "one run": [int(pid) for pid in children[:1]]}
    for pid in pids[victim]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait(attempt: Attempt, seconds: float) -> int | None:
    """The exit status of the command; ``None`` if it does not end in this time."""
    try:
        return attempt.process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def kill_table(place: Place, kills: int, rng: random.Random, seconds: float) -> int:
    """Kill a table at most so many times; returns how many there were before it was finished."""
    done = 0
    while done < kills:
        with Attempt(TABLE, place) as attempt:
            while done < kills and wait(attempt, rng.uniform(0.1, 0.7) * seconds) is None:
                victim, before = rng.choice(VICTIMS), moment(place)
                kill(attempt, victim)
                done += 1
                print(f"kill {done} of {kills}: {victim}: {before or 'nothing begun'}", flush=True)
            if attempt.process.poll() == 0:
                return done
            for _ in range(100):  # what lost its queue stops at checkpoints
                if not attempt.alive():
                    break
                time.sleep(0.1)
    return done


def finish_table(place: Place, tries: int) -> list[str]:
    """Give the command until it ends with 0; returns what is wrong."""
    for _ in range(tries):
        with Attempt(TABLE, place) as attempt:
            if wait(attempt, LONGEST) == 0:
                return []
    return [f"the command does not end with 0: {last_lines(attempt, 5)}"]


def main() -> int:
    """Kill tables; returns the exit status."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.killed_table", description=__doc__, formatter_class=form)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves no process behind
    rng, left, tables, bad = random.Random(given.seed), given.kills, 0, list[str]()
    with TemporaryDirectory(prefix="lit_video_killed-") as folder:
        start, data = time.monotonic(), Path(folder) / "data"
        with new_place(data) as place:
            bad += finish_table(place, 1)
            right, seconds = outcomes(place), time.monotonic() - start
            shutil.copytree(place.data, data)
        print(f"undisturbed: {seconds:.0f} s", flush=True)
        while left and not bad:
            with new_place(data) as place:
                left -= kill_table(place, left, rng, seconds)
                bad += finish_table(place, TRIES)
                for run, ours, other in zip(RUNS, outcomes(place), right, strict=True):
                    found = differences(ours, other) if ours and other else ["no result"]
                    bad += [f"{run.row} seed {run.seed}: {text}" for text in found]
            tables += 1
    print("\n".join(bad) or f"{given.kills} kills, {tables} tables of {len(RUNS)} runs: metrics and weights are equal")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
