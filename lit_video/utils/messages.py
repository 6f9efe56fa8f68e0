"""Messages of the package: records of ``logging``, which a command prints as plain lines, and Python on request.

``info`` is a command's output; ``ASIDE``, progress and remarks beside it, and warnings are for standard error.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

ASIDE = 25  # level between INFO and WARNING

_package = logging.getLogger("lit_video")


class _Lines(logging.Handler):
    """Handler that prints each record as a line, on the standard output or error of the moment.

    A line that cannot be written raises, as ``print`` does: a closed pipe ends a command.
    """

    def emit(self, record: logging.LogRecord) -> None:
        output = sys.stdout if record.levelno <= logging.INFO else sys.stderr
        print(record.getMessage(), file=output, flush=True)


_lines = _Lines()


def are_shown() -> bool:
    """Return whether progress is shown; bars ask this, because they are no records."""
    return _package.isEnabledFor(ASIDE)


def show_messages(shown: bool = True) -> None:
    """Print the messages of trainings, plans and downloads as a command does, or no longer.

    Without a call Python shows warnings alone; loggers are named after modules, such as ``lit_video.training.run``.
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
