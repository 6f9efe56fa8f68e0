"""The record of a run at W&B, whose failures end the record and never the run."""

import atexit
import os
import queue
import shlex
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lit_video.utils.stop_signals import FAILED, INTERRUPTED, PREEMPTED, TERMINATED
from lit_video.utils.wandb_login import offline, server, why_unreachable

if TYPE_CHECKING:
    from wandb import Run


def why_offline() -> str | None:
    """Why a run is not recorded at the server, as far as that is known before it is started; None if it is."""
    if offline():
        return "WANDB_MODE is offline" if "WANDB_MODE" in os.environ else "no API key"
    if reason := why_unreachable():
        return f"{server()} cannot be reached ({reason})"
    return None


def start_run(settings: dict[str, Any], folder: Path, mode: str) -> "Run":
    """A run, ``online`` or ``offline``, whose axis is the training step.

    Raises:
        Exception: of many kinds, W&B's own and others: there is no W&B, the server refuses, the disk is full.
    """
    import wandb  # here, as runs without a logger need no W&B

    os.environ.setdefault("WANDB_INIT_TIMEOUT", "20")  # a server that was just reached answers; W&B waits 90 s for it
    folder.mkdir(parents=True, exist_ok=True)  # else W&B silently takes a temporary folder
    run = wandb.init(**settings, mode=mode)  # type: ignore[arg-type]
    run.define_metric("trainer/global_step")
    run.define_metric("*", step_metric="trainer/global_step", step_sync=True)
    return run


T = TypeVar("T")


class WandbThread:
    """Makes calls one after another in a daemon thread.

    Slurm signals every process of a job step. W&B's process inherits the blocked signals of the thread that starts
    it, so USR1 and USR2 do not end it; of TERM it writes what it has and ends, whatever is blocked, as it asks for
    TERM itself.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="wandb", daemon=True).start()

    def call(self, function: Callable[[], T], seconds: float) -> T:
        """What the function returns or raises.

        Raises:
            TimeoutError: it takes longer than ``seconds``; the thread is stuck then, and of no more use.
        """
        future: Future[T] = Future()
        self._calls.put((future, function))
        return future.result(seconds)

    def _work(self) -> None:
        blocked = {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP}
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        while True:
            future, function = self._calls.get()
            try:
                future.set_result(function())
            except BaseException as error:  # W&B can raise SystemExit too
                future.set_exception(error)


def reason_of(error: BaseException) -> str:
    """Why a call failed, for a message."""
    if isinstance(error, TimeoutError):
        return "it does not answer"
    if isinstance(error, ConnectionError) or type(error).__name__ in ("HandleAbandonedError", "MailboxClosedError"):
        return "its process died"
    return first_line(error)


def first_line(error: BaseException) -> str:
    """An error's first line; its kind if it says nothing."""
    return (str(error) or type(error).__name__).splitlines()[0]


if TYPE_CHECKING:
    from wandb import Run

FLUSH = "WANDB_X_TRANSACTION_LOG_FLUSH_INTERVAL"
START = 90.0  # seconds to start in; W&B's own limits are shorter, see wandb_start
ANSWER = 20.0  # seconds that a call may take, before W&B counts as dead
UPLOAD = 60.0  # seconds for uploads at the end of a run
STOP = 15.0  # the same for a run that is told to stop: Slurm kills it after 30 s


class WandbRecord:
    """One run of W&B, online or offline; what goes wrong is said in one line, and nothing more is recorded.

    A row of history has the number ``_step``. W&B starts it at 0 whenever a run goes on offline, so rows of the first
    part would be replaced: here it goes on after the last row of the parts before. A run that was killed repeats the
    steps since its checkpoint, and their rows are recorded again with new numbers: the axis ``trainer/global_step``
    shows the same values twice, in place of a gap where the killed part lost its last second.

    Args:
        folder: where W&B writes.
        results: where everything is that a user needs without W&B; named in messages.
    """

    def __init__(self, folder: Path, results: Path) -> None:
        # records reach the disk within a second, so a killed run keeps them
        os.environ.setdefault(FLUSH, "1")
        self.folder = folder
        self.results = results
        self.rows = 0
        self.step = 0
        self.run: Run | None = None
        self._thread: WandbThread | None = None
        self._numbered = False
        self._seen = (time.monotonic(), 0, 0)

    def open(self, settings: dict[str, Any]) -> None:
        """Start W&B's process and the run: online if the server can be reached and takes it, else offline."""
        if os.environ.get("WANDB_MODE") == "disabled":
            return
        with suppress(OSError, ValueError):  # none yet, or damaged: then the number in the checkpoint counts
            self.rows = max(self.rows, int((self.folder / "rows").read_text(encoding="utf-8")))
        self._thread = WandbThread()
        reason = why_offline()
        if reason is None:
            try:
                self.run = self._thread.call(partial(start_run, settings, self.folder, "online"), START)
            except (Exception, SystemExit) as error:
                reason = f"{server()} does not take the run ({first_line(error)})"
                self._stop()
                self._thread = WandbThread()
        if self.run is None:
            self.run = self.do(partial(start_run, settings, self.folder, "offline"), START)
            if self.run:
                where = f"view: wandb leet {self.folder}; upload: {self.sync}"
                print(f"W&B: {reason}, recording offline; {where}", flush=True)
        if self.run:
            atexit.register(self.close, FAILED)  # after W&B's own, so it is called before: a dead process is no error

    def do(self, function: Callable[[], Any], seconds: float = ANSWER) -> Any:
        """Call into W&B; after the first error or a wait of ``seconds``, this and every later call do nothing."""
        if self._thread is None:
            return None
        try:
            return self._thread.call(function, seconds)
        except (Exception, SystemExit) as error:
            self._lose(error)
            return None

    def log(self, data: dict[str, Any]) -> None:
        """Record a row; to be called by ``do``.

        Raises:
            OSError: the rows before did not reach the disk.
        """
        assert self.run is not None
        self._check_disk()
        self.rows = max(self.rows, self.run.starting_step)
        if self._numbered:  # by W&B from here on
            self.run.log(data)
        else:
            self.run.log(data, step=self.rows, commit=True)
            self._numbered = True
        self.rows += 1
        (self.folder / "rows").write_text(str(self.rows), encoding="utf-8")

    def close(self, exit_code: int) -> None:
        """End the run and W&B's process, in bounded time; safe at any time, also without a run."""
        if self.run is None or self._thread is None:
            return
        sync = self.sync
        try:
            self._thread.call(lambda: self._finish(exit_code), STOP if exit_code else UPLOAD)
            self._forget()
        except TimeoutError:
            print(f"W&B: not everything is uploaded; for the rest: {sync}", flush=True)
            self._stop()
        except (Exception, SystemExit) as error:
            self._lose(error)

    @property
    def sync(self) -> str:
        """The command that uploads every part of the run that is not at the server, in order."""
        parts = "offline-run-*" if self.run is None or self.run.offline else Path(self.run.dir).parent.name
        return f"wandb sync {shlex.quote(str(self.folder.resolve()))}/{parts}"

    def _finish(self, exit_code: int) -> None:
        import wandb

        assert self.run is not None
        if exit_code in (PREEMPTED, INTERRUPTED, TERMINATED):
            self.run.mark_preempting()
        file, size = self.run.settings.sync_file, self._size()
        self.run.finish(exit_code)
        with suppress(SystemExit):  # with the process's own status
            wandb.teardown()
        if os.path.getsize(file) == size:
            raise OSError("its last records did not reach the disk (full?)")

    def _check_disk(self) -> None:
        """W&B goes on silently when its file cannot be written; then the file does not grow."""
        when, size, step = self._seen
        if time.monotonic() - when > 5 * float(os.environ[FLUSH]):
            if self._size() == size:
                self.step = step
                raise OSError("its records do not reach the disk (full?)")
            self._seen = (time.monotonic(), self._size(), self.step)

    def _size(self) -> int:
        assert self.run is not None
        return os.path.getsize(self.run.settings.sync_file)

    def _lose(self, error: BaseException) -> None:
        """Say once what is lost, and stop whatever of W&B may still run."""
        lost = f"W&B: {reason_of(error)}; this run is not recorded there"
        if self.run:
            lost = f"W&B: {reason_of(error)} at step {self.step}; this run's later numbers are not recorded there"
            lost += f" (those before: {self.sync})"
        print(f"{lost}; results are in {self.results}", flush=True)
        self._stop()

    def _stop(self) -> None:
        """End W&B's process, and take back the hook that would wait for it when Python ends.

        In a thread of its own, as the other one may be stuck. Whatever it raises, the process is of no more use.
        """
        self._forget()
        with suppress(Exception, SystemExit):
            import wandb

            WandbThread().call(wandb.teardown, 5)

    def _forget(self) -> None:
        self._thread, self.run = None, None
        atexit.unregister(self.close)
