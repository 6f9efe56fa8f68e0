"""Files of ``torch.save``, zip or legacy: tensors and plain values; what else was pickled is skipped, never run."""

import pickletools
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, is_zipfile

import torch

# a legacy file: magic number, protocol, system, content, names of the storages
_LEGACY_PICKLES = 5
_TORCH = ("torch.", "collections.OrderedDict")
# classes and functions of these change the machine
_SYSTEM = {"os", "posix", "nt", "sys"}


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
    """What ``torch.save`` has written, on the CPU.

    PyTorch's own reader of tensors does it; classes and functions that it does not know become :class:`Skipped`.

    Raises:
        ValueError: the file asks for something of the system, or is no file of torch.
    """
    known = torch.serialization.get_safe_globals()  # of the user's own program
    names = {name for name in _globals(path) if not name.startswith(_TORCH)}
    system = sorted(name for name in names if name.partition(".")[0] in _SYSTEM)
    if system:
        raise ValueError(f"it would run {', '.join(system)}; nothing of it was loaded")
    with torch.serialization.safe_globals([*known, *((Skipped, name) for name in sorted(names))]):
        return torch.load(path, map_location="cpu", weights_only=True)


def _globals(path: Path) -> Iterator[str]:
    """Names of all classes and functions that a file's pickles ask for; none is imported."""
    if is_zipfile(path):
        with ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith("/data.pkl"):
                    with archive.open(name) as stream:
                        yield from _of_one_pickle(stream)
        return
    with path.open("rb") as stream:
        for number in range(_LEGACY_PICKLES):
            if number and not stream.peek(1):
                return  # one pickle alone, of no file of torch
            yield from _of_one_pickle(stream)


def _of_one_pickle(stream: IO[bytes]) -> Iterator[str]:
    strings: list[str] = []  # the last two are the module and the name of a STACK_GLOBAL
    for opcode, argument, _ in pickletools.genops(stream):
        if opcode.name == "GLOBAL":
            yield str(argument).replace(" ", ".")
        elif opcode.name == "STACK_GLOBAL":
            yield ".".join(strings[-2:])
        elif isinstance(argument, str):
            strings.append(argument)
