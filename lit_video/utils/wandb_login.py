"""Whether runs can be recorded at the W&B server from here."""

import netrc
import os
import signal
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from lit_video.utils.processes import STOP_SIGNALS


def server() -> str:
    """Address of the W&B server."""
    return os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai").rstrip("/")


def project() -> str:
    """Name of the W&B project."""
    return os.environ.get("WANDB_PROJECT", "lit_video")


def has_key() -> bool:
    """Whether a key for the W&B server is configured, in ``WANDB_API_KEY`` or by ``wandb login``."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    try:
        return netrc.netrc().authenticators(server().split("//")[-1]) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def why_offline(seconds: float = 8.0) -> str | None:
    """Return why runs are recorded offline, or None where the server answers anything but an error of its own."""
    if os.environ.get("WANDB_MODE") in ("offline", "dryrun"):
        return "WANDB_MODE is offline"
    if not has_key():
        return "no API key"
    # nothing is sent that a wrong server must not see, and W&B looks for certificates in other places than Python
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        bounded(lambda: urlopen(f"{server()}/healthz", timeout=seconds, context=context).close(), seconds)
    except HTTPError as error:
        return f"{server()} cannot be reached (it answers {error.code})" if error.code >= 500 else None
    except Exception as error:  # no network, a bad address, a proxy's refusal
        return f"{server()} cannot be reached ({first_line(getattr(error, 'reason', error))})"
    return None


def bounded(function: Callable[[], Any], seconds: float) -> Any:
    """Call a function in a thread: looking up a name can take minutes, and a call into W&B for ever.

    W&B's process, if it is started there, inherits the blocked signals: Slurm sends USR1 and USR2 to it too.

    Raises:
        TimeoutError: the call takes longer than ``seconds``.
        BaseException: whatever the function raises; W&B can raise SystemExit too.
    """
    answer: Future[Any] = Future()

    def work() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            answer.set_result(function())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        raise TimeoutError(f"no answer in {seconds:.0f} s") from None


def first_line(error: object) -> str:
    """First line of an error, or its kind where it has no message."""
    return (str(error) or type(error).__name__).splitlines()[0]
