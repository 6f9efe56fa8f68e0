"""End of a run without a result: a line for the user, the state in ``run.json``, and a new place in Slurm's queue."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lightning import Trainer
from lightning.fabric.utilities.exceptions import MisconfigurationException

from lit_video.errors import RunFailed, UserError, one_line
from lit_video.runs.folder import RUNNING, read_status, write_status
from lit_video.runs.record import State, Status
from lit_video.utils.processes import AGAIN, PREEMPTED, refuse_output, requeue
from lit_video.video.decoding import DecodeError

_logger = logging.getLogger(__name__)

NO_MEMORY = "out of memory; give a smaller --data.batch_size, or --model.activation_checkpointing=block"
DIED = f"another process of this run died; {AGAIN}"
# patterns in errors of PyTorch, oneDNN, NCCL, Python and C++, with their meanings
WORKER_DIED = r"DataLoader worker \(pid.*?\) (is killed by signal: \w+|exited unexpectedly)"
KNOWN_FAILURES = {
    WORKER_DIED: f"{{}}, perhaps out of memory; {AGAIN}, or take fewer --data.num_workers",
    "unable to .*(file </|shared memory).*": "shared memory: {}; make /dev/shm or the limit of file sizes larger",
    "(allocate|out of) memory|MemoryError|could not create a primitive|can't start new thread|bad_alloc": NO_MEMORY,
    # raised by receivers when a worker or rank is killed while sending
    r"Connection( reset|\w*Error)|EOFError|closed by peer|got 0 bytes|Broken ?pipe|NCCL error|Socket closed": DIED,
}


def leave(run_dir: Path, status: int, line: str, *, step: int = 0, steps: int = 0) -> None:
    """Write to ``run.json`` that a run stopped, and requeue a preempted Slurm job."""
    if status != PREEMPTED:
        write_end(run_dir, "stopped", line, step=step, steps=steps)
        return

    write_end(run_dir, "preempted", line, step=step, steps=steps)
    requeued = requeue()
    if requeued:
        _logger.info(requeued)


def keep_handlers(trainer: Trainer) -> None:
    """Keep a trainer from replacing our signal handlers: with Lightning's, processes hang (docs/architecture.md)."""
    trainer._signal_connector.register_signal_handlers = lambda: None  # type: ignore[method-assign]


def write_end(run_dir: Path, state: State, message: str, *, step: int = 0, steps: int = 0) -> None:
    """Write how a run ended and at which step, by default the last step in ``run.json``."""
    before = read_status(run_dir)
    if not steps and before and before.state in RUNNING:
        step = before.step
        steps = before.steps
    last = message.strip().rpartition("\n")[2][:500]
    write_status(run_dir, Status(state, step, steps, message=last))


@contextmanager
def failures() -> Iterator[None]:
    """Report a broken video, a killed process or full memory in one line."""
    try:
        yield
    except DecodeError as error:  # a worker's error includes its traceback, with the reason in the last line
        reason = str(error).strip().splitlines()[-1].removeprefix(f"{DecodeError.__module__}.DecodeError: ")
        raise UserError(f"{reason}; fix the video or take it out of the data set") from error
    except MisconfigurationException as error:  # for instance, a monitored metric is missing
        raise RunFailed(f"trainer: {one_line(error)}") from error
    except (RuntimeError, MemoryError, OSError, EOFError) as error:
        refuse_output()
        if type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
            reason = str(getattr(error, "inner_exception", error)).strip().splitlines()[0]
            raise RunFailed(f"compile: {reason}; run it without --compile") from error

        for pattern, meaning in KNOWN_FAILURES.items():
            match = re.search(pattern, f"{type(error).__name__}: {error}", re.IGNORECASE)
            if match:
                raise RunFailed(meaning.format(match[0])) from error
        raise
