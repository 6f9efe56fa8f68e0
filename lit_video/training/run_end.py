"""Ends of a run without a result: a line, the state in ``run.json``, and a Slurm job back in its queue."""

import errno
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import Signals

import torch
from lightning import Trainer
from lightning.fabric.utilities.exceptions import MisconfigurationException

from lit_video.errors import RunFailed, UserError
from lit_video.runs.status import RUNNING, State, Status, read_status, write_status
from lit_video.training.callbacks.checkpoints import Stopped
from lit_video.utils.processes import end_children, requeue
from lit_video.utils.stop_signals import AGAIN, FAILED, PREEMPTED, STATUS
from lit_video.utils.text import to_bytes
from lit_video.video.decoding import DecodeError

# in messages of PyTorch, oneDNN, Python's threads and C++
NO_MEMORY = ("allocate memory", "out of memory", "could not create a primitive", "can't start new thread", "bad_alloc")
SMALLER = "give a smaller --data.batch_size, or --model.activation_checkpointing=block"


def exit_status(reason: str) -> int:
    """Exit status of a run that a signal or ``max_time`` stopped at a checkpoint."""
    return STATUS[Signals[reason]] if reason in Signals.__members__ else PREEMPTED


def stopped(stop: Stopped, run_dir: Path, name: str) -> int:
    """Say that training stopped at a checkpoint; put a Slurm job that was asked to leave back into the queue."""
    line = f"stopped by {stop.reason} at step {stop.step} of {stop.steps}; {AGAIN}"
    print(f"{name}: {line}", flush=True)
    leave(run_dir, exit_status(stop.reason), line, stop.step, stop.steps)
    return exit_status(stop.reason)


def leave(run_dir: Path, status: int, line: str, step: int = 0, steps: int = 0) -> None:
    """Stop like `stopped`, without printing."""
    write_end(run_dir, "preempted" if status == PREEMPTED else "stopped", line, step, steps)
    if status == PREEMPTED and (queued := requeue()):
        print(queued, flush=True)


def say_dead_ranks(run_dir: Path, name: str) -> None:
    """Say why the run ends before Lightning silently kills all processes because one has died."""
    logger = logging.getLogger("lightning.fabric.strategies.launchers.subprocess_script")
    logger.setLevel(logging.INFO)
    logger.filters.clear()  # left by an earlier run of this process

    def say(record: logging.LogRecord) -> bool:
        if match := re.search(r"PID \d+ terminated with code -?\d+", record.getMessage()):
            line = f"another process of the run ended ({match[0]}); {AGAIN}"
            write_end(run_dir, "failed", line)
            os.write(2, to_bytes(f"error: {name}: {line}\n"))
            end_children()
            os._exit(FAILED)
        return False

    logger.addFilter(say)


def keep_handlers(trainer: Trainer) -> None:
    """Let a trainer leave signals to ours.

    Lightning's own handler of SIGTERM starts a collective in whatever the processes are doing, and they hang; that for
    Slurm saves and requeues by itself.
    """
    trainer._signal_connector.register_signal_handlers = lambda: None  # type: ignore[method-assign]


def write_end(run_dir: Path, state: State, message: str, step: int = 0, steps: int = 0) -> None:
    """Write how a run ended, with the step that it had reached, by default the one that it last wrote."""
    before = read_status(run_dir)
    if not steps and before and before.state in RUNNING:
        step, steps = before.step, before.steps
    last = message.strip().rpartition("\n")[2][:500]
    write_status(run_dir, Status(state, step, steps, message=last))


@contextmanager
def failures() -> Iterator[None]:
    """Report in one line what can happen to any run: a broken video, a killed process, no memory.

    Raises:
        UserError: a video cannot be read.
        RunFailed: a process of the run died, memory is full, or a setting of the trainer proves wrong.
    """
    try:
        yield
    except DecodeError as error:  # from a worker it carries the worker's traceback, the reason in its last line
        reason = str(error).strip().splitlines()[-1].removeprefix(f"{DecodeError.__module__}.DecodeError: ")
        raise UserError(f"{reason}; fix the video or take it out of the data set") from error
    except MisconfigurationException as error:  # for instance, a monitored metric is missing
        raise RunFailed(f"trainer: {' '.join(str(error).split())}") from error
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise RunFailed(f"out of memory; {SMALLER}") from error
    except (ConnectionError, EOFError) as error:  # in the middle of what a killed worker or rank was sending
        raise RunFailed(f"another process of this run died; {AGAIN}") from error
    except OSError as error:
        if error.errno == errno.ENOMEM:  # a process that cannot be started
            raise RunFailed(f"out of memory; {SMALLER}") from error
        raise
    except RuntimeError as error:
        if said := known_failure(str(error)):
            raise RunFailed(said) from error
        if type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
            reason = str(getattr(error, "inner_exception", error)).strip().splitlines()[0]
            raise RunFailed(f"compile: {reason}; run it without --compile") from error
        raise


def known_failure(text: str) -> str:
    """Explain a message of PyTorch about memory or another process in a line; empty for any other message."""
    if match := re.search(r"DataLoader worker \(pid.*?\) (is killed by signal: \w+|exited unexpectedly)", text):
        return f"{match[0]}, perhaps out of memory; {AGAIN}, or take fewer --data.num_workers"
    if match := re.search(r"unable to .*(?:file </|shared memory).*", text):  # ends a worker's traceback
        return f"shared memory: {match[0]}; make /dev/shm or the limit of file sizes larger"
    if any(words in text for words in NO_MEMORY):
        return f"out of memory; {SMALLER}"
    if re.search(
        r"closed by peer|got 0 bytes|Connection reset|Broken pipe|NCCL error|Socket closed", text, re.IGNORECASE
    ):
        return f"another process of this run died; {AGAIN}"
    return ""
