"""The errors that users see: what is wrong, where, what to do.

Values that do not fit are a ``ValueError``, files and settings a :class:`UserError`, with the reason in the message.
Docstrings list errors in the public API, for decoding, and where they are of another kind.
"""


class UserError(Exception):
    """A mistake of the user's, in one line; the command line prints it without a traceback and exits with 2."""


class OptionError(UserError):
    """A wrong argument of a function, or several with commas, and why; a command calls it by its flag."""

    def __init__(self, options: str, reason: object) -> None:
        super().__init__(options, reason)

    def __str__(self) -> str:
        return "{}: {}".format(*self.args)


def one_line(error: BaseException) -> str:
    """Return an error's message in one line, or the name of its class."""
    return " ".join(str(error).split()) or type(error).__name__


class RunFailed(UserError):
    """A run ended without a result, by nothing that is wrong in the command: exit status 1."""
