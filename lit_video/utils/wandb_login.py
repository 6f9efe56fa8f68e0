"""Whether W&B can be reached with what is configured here. Imports neither torch nor wandb."""

import netrc
import os


def has_key() -> bool:
    """Whether a key for the W&B server is configured, in ``WANDB_API_KEY`` or by ``wandb login``."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = os.environ.get("WANDB_BASE_URL", "api.wandb.ai").split("//")[-1].rstrip("/")
    try:
        return netrc.netrc().authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def offline() -> bool:
    """Whether runs are recorded offline: ``WANDB_MODE`` says so, or there is no key."""
    if "WANDB_MODE" in os.environ:
        return os.environ["WANDB_MODE"] == "offline"
    return not has_key()
