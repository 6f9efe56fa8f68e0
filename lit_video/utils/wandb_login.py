"""Whether W&B can be reached with what is configured here. Imports neither torch nor wandb."""

import netrc
import os
import queue
import ssl
import threading
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, build_opener


def server() -> str:
    """Address of the W&B server."""
    return os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai").rstrip("/")


def has_key() -> bool:
    """Whether a key for the W&B server is configured, in ``WANDB_API_KEY`` or by ``wandb login``."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    try:
        return netrc.netrc().authenticators(server().split("//")[-1]) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def offline() -> bool:
    """Whether runs are recorded offline: ``WANDB_MODE`` says so, or there is no key."""
    if "WANDB_MODE" in os.environ:
        return os.environ["WANDB_MODE"] in ("offline", "dryrun")
    return not has_key()


def why_unreachable(seconds: float = 8.0) -> str | None:
    """Why the W&B server cannot be reached; None if it answers anything but an error of its own.

    Proxies of the environment are used. The name is looked up in a thread, as that alone can take minutes.

    Args:
        seconds: the longest wait.
    """
    answer: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=lambda: answer.put(_ask(server(), seconds)), daemon=True).start()
    try:
        return answer.get(timeout=seconds)
    except queue.Empty:
        return f"no answer in {seconds:.0f} s"


class _NoRedirects(HTTPRedirectHandler):
    """Takes a redirect for an answer: where it leads may be out of reach."""

    def redirect_request(self, *args: object) -> None:
        """Do not follow."""


def _ask(url: str, seconds: float) -> str | None:
    # nothing is sent that a wrong server must not see, and W&B looks for certificates in other places than Python
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        build_opener(_NoRedirects, HTTPSHandler(context=context)).open(url, timeout=seconds).close()
    except HTTPError as error:
        return f"it answers {error.code}" if error.code >= 500 else None
    except URLError as error:
        return str(error.reason)
    except Exception as error:  # a bad address, not HTTP, a proxy's refusal: all mean offline
        return str(error) or type(error).__name__
    return None
