"""What ``predict -o FILE`` keeps while it runs, so that the same command goes on. Imports no torch by itself."""

from __future__ import annotations

from argparse import Namespace
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from lit_video.utils.checkpoint_digest import checkpoint_digest

if TYPE_CHECKING:
    from lit_video.inference.kept import KeptResults

SETTINGS = ("clips", "crops", "fps", "every", "window")


def keep_results(arguments: Namespace) -> AbstractContextManager[KeptResults | None]:
    """For the block in which videos are predicted and the output is written; of no output, nothing is kept.

    Raises:
        UserError: an earlier process was stopped that had other settings, or another one runs.
    """
    if arguments.output is None:
        return nullcontext()
    try:
        digest = checkpoint_digest(arguments.ckpt)
    except (OSError, ValueError):
        return nullcontext()  # loading it says what is wrong
    from lit_video.inference.kept import KeptResults

    settings = {name: getattr(arguments, name) for name in SETTINGS}
    # without windows the probabilities of all classes are kept, however many are named
    settings["top"] = (arguments.top or 5) if arguments.every else None
    return KeptResults(arguments.output, {"ckpt": digest} | settings)
