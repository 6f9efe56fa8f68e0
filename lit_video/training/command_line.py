"""Command lines in the form in which results record them."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path


def recorded_command(arguments: Sequence[str], program: str = "lit_video") -> str:
    """Return a command line without absolute or ``..`` paths: a file keeps its name, a folder becomes ``DIR``."""
    return shlex.join([*program.split(), *map(without_folder, arguments)])


def without_folder(argument: str) -> str:
    """Return an argument as :func:`recorded_command` keeps it."""
    value = re.sub("^--[^=]*=", "", argument)
    flag = argument.removesuffix(value)
    path = Path(value).expanduser()
    if not path.is_absolute() and path.parts[:1] != ("..",):
        return argument
    return flag + (path.name if path.suffix else "DIR")
