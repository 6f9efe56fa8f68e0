"""Errors for users: what is wrong, where, what to do.

Unfit values raise ``ValueError``, unfit files and settings :class:`UserError`, with the reason in the message.
``Raises:`` sections list the errors of the public API and of decoding, and errors of other classes than these two.
"""


class UserError(Exception):
    """A mistake of the user's, in one line; the command line prints it without a traceback and exits with 2."""


class OptionError(UserError):
    """One or more wrong arguments (comma-separated) and the reason; a command prints them as flags."""

    def __init__(self, options: str, reason: object) -> None:
        super().__init__(options, reason)

    def __str__(self) -> str:
        return "{}: {}".format(*self.args)


def one_line(error: BaseException) -> str:
    """Return an error's message in one line, or the name of its class."""
    return " ".join(str(error).split()) or type(error).__name__


class RunFailed(UserError):
    """A run that ended without a result although its command is right: exit status 1."""
