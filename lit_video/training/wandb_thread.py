"""A thread of its own for W&B: calls end in time, and signals for a run do not reach W&B's process."""

import queue
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

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
