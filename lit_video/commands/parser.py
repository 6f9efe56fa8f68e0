"""argparse with mistakes as one line, and types of arguments."""

import argparse
import os
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from lit_video.commands.examples import examples
from lit_video.errors import UserError


class Parser(argparse.ArgumentParser):
    """argparse, with mistakes as :class:`UserError`."""

    show: ClassVar[Callable[["Parser"], NoReturn] | None] = None  # what --help does instead of printing

    def __init__(self, command: str, description: str = "", add_help: bool = True) -> None:
        name = f"python -m lit_video {command}"
        super().__init__(
            prog=name,
            description=description,
            epilog=examples(command),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=add_help,
            allow_abbrev=False,
        )

    def print_help(self, file: Any = None) -> None:
        """Print it, or do what is to be done with the whole parser."""
        if Parser.show is not None:
            Parser.show(self)
        super().print_help(file)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise UserError(f"{message} (see {self.prog} --help)")

    def joined(self, argv: Sequence[str]) -> list[str]:
        """The arguments, with ``--data.root DIR``, which this parser does not know, as ``--data.root=DIR``.

        Without that the value would be taken for an argument that has no flag.
        """
        own = {name for action in self._actions for name in action.option_strings}
        joined: list[str] = []
        for argument in argv:
            last = joined[-1] if joined else ""
            if last.startswith("--") and "=" not in last and last not in own and not argument.startswith("--"):
                joined[-1] = f"{last}={argument}"
            else:
                joined.append(argument)
        return joined


def check_file(flag: str, path: Path) -> None:
    """Refuse a file that cannot be written, before the work for it is done.

    Raises:
        UserError: its folder does not exist, it is a folder itself, or writing is not permitted.
    """
    if not path.parent.is_dir():
        raise UserError(f"{flag} {path}: no such folder {path.parent}")
    if path.is_dir():
        raise UserError(f"{flag} {path}: is a folder, expected a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UserError(f"{flag} {path}: writing there is not permitted")


@contextmanager
def writing(flag: str, path: Path) -> Iterator[None]:
    """Raise a :class:`UserError` with the reason if a file cannot be written in the block."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{flag} {path}: {error.strerror}") from error


def new_file(flag: str, *endings: str) -> Callable[[str], Path]:
    """Type of an argument that names a file to write, of one of these endings or any: see :func:`check_file`."""

    def path(text: str) -> Path:
        if endings and Path(text).suffix.lower() not in endings:
            raise ArgumentTypeError(f"{text} ends in none of {', '.join(endings)}")
        check_file(flag, Path(text))
        return Path(text)

    return path


def positive(text: str) -> int:
    """Type of an argument that is 1, 2, 3, ..."""
    return _at_least(text, 1)


def natural(text: str) -> int:
    """Type of an argument that is 0, 1, 2, ..."""
    return _at_least(text, 0)


def whole_numbers(text: str) -> list[int]:
    """Type of an argument that is whole numbers with commas, each once, such as ``0,1,2``."""
    if not all(part.strip().isdecimal() for part in text.split(",")):
        raise ArgumentTypeError(f"is {text}, expected whole numbers with commas, such as 0,1,2")
    return list(dict.fromkeys(int(part) for part in text.split(",")))


def positive_number(text: str) -> float:
    """Type of an argument that is a number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        raise ArgumentTypeError(f"is {text}, expected a number above 0")
    return value


def _at_least(text: str, least: int) -> int:
    if not text.lstrip("-").isdecimal() or int(text) < least:
        raise ArgumentTypeError(f"is {text}, expected a whole number from {least}")
    return int(text)
