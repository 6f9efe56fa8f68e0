"""Starting a run at W&B."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
