"""Files of ``torch.save``, zip or legacy: tensors and plain values; what else was pickled is skipped, never run."""

import re
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch


class Skipped:
    """In the place of what is no tensor and no plain value, such as ``argparse.Namespace`` or a NumPy scalar."""

    def __new__(cls, *args: object, **kwargs: object) -> "Skipped":
        """Take and forget any arguments."""
        return super().__new__(cls)

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Take and forget any arguments."""

    def __setstate__(self, state: object) -> None:
        """Forget any state."""


def load_torch(path: Path) -> Any:
    """Read what ``torch.save`` has written, on the CPU.

    PyTorch's own reader of tensors does it; classes and functions that it does not know become :class:`Skipped`.

    Raises:
        UnpicklingError: the file asks for something of the system or of torch that is no tensor.
        Exception: it is no file of torch, or damaged.
    """
    allowed: list[Any] = torch.serialization.get_safe_globals()  # of the user's own program
    while True:
        try:
            with torch.serialization.safe_globals(allowed):
                return torch.load(path, map_location="cpu", weights_only=True)
        except UnpicklingError as error:
            unknown = re.search(r"GLOBAL (\S+) was not an allowed", str(error))
            name = unknown[1] if unknown else "torch."
            name = name if "." in name else f"builtins.{name}"
            if name.startswith("torch.") or (Skipped, name) in allowed:
                raise
            allowed = [*allowed, (Skipped, name)]  # one more each time
