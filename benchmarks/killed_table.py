"""A table killed at random moments: two rows with two seeds by ``fit --jobs 2``.

    python -m benchmarks.killed_table --kills 10

SIGKILL ends all processes, as a machine that goes down, or one run of the queue; then the same command is given again.
Exit status 1 if metrics or a weight of a run differ in a bit from those of an undisturbed table, or the command fails.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.faults.cells import Outcome, differences, last_lines, read_outcome
from benchmarks.faults.runs import Attempt, Place, Setting, new_place
from lit_video.runs.status import read_status

ROWS, SEEDS = ("tw1", "tw2"), (0, 1)
LONGER = ("--trainer.max_epochs=8", "--data.pairs=[8,2,2]")
TABLE = Setting(",".join(ROWS), flags=(*LONGER, f"--seeds={','.join(map(str, SEEDS))}", "--jobs=2"))
RUNS = [Setting(row, seed) for row in ROWS for seed in SEEDS]


def outcomes(place: Place) -> list[Outcome | None]:
    """Results and weights of every run, ``None`` without a result."""
    return [read_outcome(run.folder(place.runs)) for run in RUNS]


def trains(place: Place) -> bool:
    """Whether a run is in training, or was when it was killed."""
    states = [read_status(run.folder(place.runs)) for run in RUNS]
    return any(status and status.state == "training" for status in states)


def kill(attempt: Attempt, rng: random.Random) -> str:
    """Kill all processes or one run; returns the state of every run before."""
    states = [(run, read_status(run.folder(attempt.place.runs))) for run in RUNS]
    queue = attempt.process.pid
    children = Path(f"/proc/{queue}/task/{queue}/children").read_text().split()
    one = [int(pid) for pid in children[:1]] if rng.random() < 0.3 else []
    for pid in one or attempt.alive():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    begun = ", ".join(f"{run.row}/{run.seed} {status.state} {status.step}" for run, status in states if status)
    return f"{'one run' if one else 'all processes'}: {begun or 'nothing begun'}"


def table(place: Place, kills: int, rng: random.Random, seconds: float) -> int:
    """Give the command until it ends with 0, killing it at most so many times; returns how often it was killed."""
    done = failed = 0
    while failed < 3:
        with Attempt(TABLE, place) as attempt:
            while attempt.process.poll() is None:
                while done < kills and attempt.process.poll() is None and not trains(place):
                    time.sleep(0.1)
                with suppress(subprocess.TimeoutExpired):
                    attempt.process.wait(rng.uniform(0, 0.7) * seconds if done < kills else 900)
                if done < kills and attempt.process.poll() is None:
                    done += 1
                    print(f"kill {done}: {kill(attempt, rng)}", flush=True)
            if attempt.process.returncode == 0:
                return done
            failed += done == kills
    raise SystemExit(f"the command does not end with 0: {last_lines(attempt, 5)}")


def main() -> int:
    """Kill tables until there were enough kills, and compare each; returns the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.killed_table", description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments")
    given = parser.parse_args()
    rng, left, bad = random.Random(given.seed), given.kills, list[str]()
    with TemporaryDirectory(prefix="lit_video_killed-") as folder, new_place(Path(folder) / "none") as place:
        start = time.monotonic()
        table(place, 0, rng, 0)
        right, seconds = outcomes(place), time.monotonic() - start
        while left and not bad:
            with new_place(place.data) as other:
                left -= table(other, left, rng, seconds)
                for run, ours, expected in zip(RUNS, outcomes(other), right, strict=True):
                    found = differences(ours, expected) if ours and expected else ["no result"]
                    bad += [f"{run.row} seed {run.seed}: {text}" for text in found]
    print("\n".join(bad) or f"{given.kills} kills of {seconds:.0f} s tables of {len(RUNS)} runs: all weights are equal")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
