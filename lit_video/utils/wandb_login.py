"""Find out whether runs can be recorded at the W&B server from here."""

import netrc
import os
from urllib.error import HTTPError
from urllib.request import build_opener

from lit_video.utils.text import first_line

# parts of a run's record that tell of the data and the user
RECORDED = "settings, paths, class names, curves, confusion matrices, printed lines, and facts of the machine"


def server() -> str:
    """Return the address of the W&B server."""
    return os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai").rstrip("/")


def wandb_project() -> str:
    """Return the name of the W&B project."""
    return os.environ.get("WANDB_PROJECT", "lit_video")


def has_key() -> bool:
    """Return whether a key for the W&B server is configured, in ``WANDB_API_KEY`` or by ``wandb login``."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    try:
        return netrc.netrc().authenticators(server().split("//")[-1]) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def why_offline() -> str | None:
    """Return why runs are recorded offline, or None if the server gives any answer."""
    if os.environ.get("WANDB_MODE") in ("offline", "dryrun"):
        return "WANDB_MODE is offline"
    if not has_key():
        return "no API key"
    try:
        build_opener().open(server(), timeout=8).close()
    except HTTPError:
        return None
    except Exception as error:  # no network, a bad address, a proxy's refusal
        return f"{server()} cannot be reached ({first_line(getattr(error, 'reason', error))})"
    return None
