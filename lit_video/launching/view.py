"""Lines and tables about runs and their states; the queue of a command."""

import sys
import time
from collections import Counter
from collections.abc import Sequence

from lit_video.launching.queue import LEFT_ALONE, Place, Queue
from lit_video.launching.states import Observed, State, jobs_of, observe
from lit_video.training.request import Run
from lit_video.utils.parallel import EVERY
from lit_video.utils.processes import requeue
from lit_video.utils.stop_signals import AGAIN, DONE, FAILED, PREEMPTED, STATUS
from lit_video.utils.text import text_table, time_left

ORDER: tuple[State, ...] = ("running", "queued", "preempted", "failed", "lost", "stopped", "done", "not started")


def run_here(command: str, runs: Sequence[Run], places: Sequence[Place], reuse: bool) -> int:
    """Run what is left on this machine; returns the exit status, 0 if there is no run without a result.

    ``command`` is its name, for messages; ``runs`` are all, the finished ones too; with ``reuse`` those that take over
    what others have trained come last.
    """
    left = unfinished(runs)
    queue, told = Queue(places, say, jobs_of(run.folder for run in left)), time.monotonic()

    def tell() -> None:
        nonlocal told
        if time.monotonic() - told >= EVERY:
            told = time.monotonic()
            say(_at_work(runs, queue))

    for together in rounds(left) if reuse and len(places) > 1 else [left]:
        queue.work(together, tell)
        if queue.stop:
            break
    say(counts([observe(run.folder, {}) for run in runs]))
    if queue.stop:
        requeued = requeue() if STATUS[queue.stop] == PREEMPTED else ""
        end = "; ".join(filter(None, [f"stopped by {queue.stop.name}", requeued, AGAIN]))
        print(f"{command}: {end}", file=sys.stderr, flush=True)
        return STATUS[queue.stop]
    missing = [run for run in queue.missing if observe(run.folder, {}).state != "done"]
    if missing:
        print(f"{command}: {len(missing)} runs have no result; {AGAIN}", file=sys.stderr, flush=True)
    return FAILED if missing else DONE


def unfinished(runs: Sequence[Run]) -> list[Run]:
    """Return the runs without a result of the whole training, after a check for mistakes of all of them."""
    from lit_video.runs.folder import writable
    from lit_video.training.run import is_done  # here, because importing torch takes seconds

    left = [run for run in runs if not is_done(run)]
    for run in runs:  # before this nothing is written
        writable(run.folder)
    if len(left) < len(runs):
        print(f"{len(runs) - len(left)} of {len(runs)} runs are finished, skipped", flush=True)
    return left


def rounds(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the runs that train, then those that take over a training by ``--reuse``."""
    from lit_video.training.identity import first_of_each
    from lit_video.training.run import build_row

    firsts = first_of_each([build_row(run).resolved() for run in runs])
    divided = [[run for run, first in zip(runs, firsts, strict=True) if first is wanted] for wanted in (True, False)]
    return [each for each in divided if each]


def free(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that neither a process nor Slurm has; print a line for each of the others."""
    jobs = jobs_of(run.folder for run in runs)
    observed = [observe(run.folder, jobs) for run in runs]
    for run, each in zip(runs, observed, strict=True):
        if each.active:
            say(f"{run.name}: {LEFT_ALONE} ({each.detail})")
    return [run for run, each in zip(runs, observed, strict=True) if not each.active]


def show(runs: Sequence[Run]) -> int:
    """Print how far all runs are."""
    jobs = jobs_of(run.folder for run in runs)
    observed = [observe(run.folder, jobs) for run in runs]
    header = ["table", "row", "seed", "state", "progress", "clips/s", "data wait", "left", ""]
    body = [
        [run.request.table.name, run.row.name, str(run.seed), each.state, *_progress(each), each.detail]
        for run, each in zip(runs, observed, strict=True)
    ]
    say(text_table("", header, body))
    say(counts(observed))
    return DONE


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def _at_work(runs: Sequence[Run], queue: Queue) -> str:
    """Return how many runs are in each state, and the progress of those that run."""
    observed = [queue.observe(run) for run in runs]
    lines = [
        " ".join(filter(None, [run.name, each.detail.partition(" on ")[0], *_progress(each)[::3]]))
        for run, each in zip(runs, observed, strict=True)
        if each.state == "running"
    ]
    return "; ".join([counts(observed), *_total(observed), *lines])


def _total(observed: Sequence[Observed]) -> list[str]:
    """Return about how long all runs take, if each takes as long as those at work and as many run at a time."""
    known = [each.status for each in observed if each.state == "running" and each.status and each.status.seconds_left]
    if not known:
        return []
    whole = max(one.seconds_left * one.steps / max(1, one.steps - one.step) for one in known)
    waiting = sum(each.state not in ("done", "running", "failed") for each in observed)
    return [f"about {time_left(max(one.seconds_left for one in known) + whole * waiting / len(known))} for all"]


def counts(observed: Sequence[Observed]) -> str:
    """Return how many runs are in each state."""
    by_state = Counter(each.state for each in observed)
    parts = [f"{by_state[state]} {state}" for state in ORDER if by_state[state]]
    return f"{len(observed)} runs: {', '.join(parts)}"


def _progress(each: Observed) -> list[str]:
    """Step of steps, clips per second, share that waits for data and time left, as far as they hold now."""
    status = each.status
    if status is None or not status.steps or each.state == "done":
        return [""] * 4
    progress = f"{status.step}/{status.steps} {100 * status.step // status.steps} %"
    if each.state != "running" or status.state not in ("training", "image model"):
        return [progress, "", "", ""]
    speed = [f"{status.clips_per_second:.0f}", f"{status.data_wait:.0f} %"] if status.clips_per_second else ["", ""]
    return [progress, *speed, time_left(status.seconds_left) if status.seconds_left else ""]
