"""The command that made a result, as it is kept beside it. Imports no torch."""

import shlex
from collections.abc import Sequence
from pathlib import Path


def recorded_command(arguments: Sequence[str], program: str = "lit_video") -> str:
    """``python -m PROGRAM`` with its arguments, without folders of the machine.

    A folder outside the working folder (``--runs``, ``--data.root``) is ``DIR``, a file there is its name.
    """
    words = [_without_folder(argument) for argument in arguments]
    return shlex.join(["python", "-m", program, *words])


def _without_folder(argument: str) -> str:
    flag, equals, value = argument.partition("=") if argument.startswith("--") else ("", "", argument)
    path = Path(value).expanduser()
    if not path.is_absolute() and path.parts[:1] != ("..",):
        return argument
    return flag + equals + (path.name if path.suffix else "DIR")
