"""Errors for users: what is wrong, where, what to do.

An unfit value raises ``ValueError``; an unfit file or setting raises :class:`UserError`. The message says why.
``Raises:`` sections list the errors that a caller handles.
"""

from pathlib import Path
from traceback import walk_tb
from types import FrameType


class UserError(Exception):
    """A user's mistake, described in one line; the command line prints it without a traceback and exits with 2."""


class OptionError(UserError):
    """Wrong arguments, separated by commas, and the reason; a command prints the arguments as flags."""

    def __init__(self, options: str, reason: object) -> None:
        super().__init__(options, reason)

    def __str__(self) -> str:
        return "{}: {}".format(*self.args)

    @property
    def of_flags(self) -> str:
        """The message with the arguments as flags."""
        options, reason = self.args
        flags = [f"--{option}" if "." in option else f"--{option.replace('_', '-')}" for option in options.split(", ")]
        return f"{', '.join(flags)}: {reason}"


def one_line(error: BaseException) -> str:
    """Return an error's message in one line, or the name of its class."""
    return " ".join(str(error).split()) or type(error).__name__


def raised_by(error: BaseException) -> str:
    """Return the package whose code raised an error, by the name of the module; empty if it was not raised."""
    packages = [_package_of(frame) for frame, _ in walk_tb(error.__traceback__)]
    return packages[-1] if packages else ""


def _package_of(frame: FrameType) -> str:
    # the module's name, not its file: a checkout or a user's folder may be called lit_video too
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def fault_of(error: BaseException) -> str:
    """Return the class and the message of an error in a user's code, with the last file and line of that code."""
    where = ""
    for frame, line in walk_tb(error.__traceback__):
        if _package_of(frame) not in {"importlib", "lit_video", "torch"}:
            where = f" ({Path(frame.f_code.co_filename).name}, line {line})"

    return f"{type(error).__name__}: {one_line(error)[:160]}{where}"


class RunFailed(UserError):
    """A run that ended without a result although its command is right: exit status 1.

    Attributes:
        fitted: of several runs, those that have a result, see :func:`lit_video.fit`; ``None`` for one run.
    """

    fitted: object | None = None


class RunStopped(UserError):
    """Runs that a signal or a time limit stopped at a checkpoint; the same call goes on from there.

    A message was logged when it happened, so the command line prints none.

    Attributes:
        status: exit status of a command, see ``lit_video.utils.processes``.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
