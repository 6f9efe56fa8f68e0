"""Messages of the package: records of ``logging``, which commands print as plain lines; Python shows them on request.

Records of level INFO are a command's output. ``ASIDE`` is the level of progress and remarks; these and warnings go to
the standard error.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

ASIDE = 25  # level between INFO and WARNING

_package = logging.getLogger("lit_video")


class _Lines(logging.Handler):
    """Handler that prints each record as a line, to the standard output or error, also if these are replaced later.

    An error in writing is raised, unlike by other handlers, because a closed pipe shall end a command.
    """

    def emit(self, record: logging.LogRecord) -> None:
        output = sys.stdout if record.levelno <= logging.INFO else sys.stderr
        print(record.getMessage(), file=output, flush=True)


_lines = _Lines()


def are_shown() -> bool:
    """Return whether messages are shown, for progress bars, which are no records and so must ask."""
    return _package.isEnabledFor(ASIDE)


def show_messages(shown: bool = True) -> None:
    """Print the messages of trainings, plans and downloads as commands do; ``False`` stops it again.

    By default Python shows only warnings. Loggers have the names of modules, such as ``lit_video.training.run``.
    """
    _package.setLevel(logging.INFO if shown else logging.NOTSET)
    if shown:
        _package.addHandler(_lines)
    else:
        _package.removeHandler(_lines)


@contextmanager
def shown_messages() -> Iterator[None]:
    """Print the package's messages in a block."""
    before = _lines in _package.handlers
    show_messages()
    try:
        yield
    finally:
        show_messages(before)


@contextmanager
def hidden_messages() -> Iterator[None]:
    """Print no messages of the package in a block but warnings."""
    before = _package.level
    _package.setLevel(logging.WARNING)
    try:
        yield
    finally:
        _package.setLevel(before)
