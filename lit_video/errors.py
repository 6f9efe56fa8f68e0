"""The one error that users see: what is wrong, where, what to do."""


class UserError(Exception):
    """A mistake of the user's, told in one line; the command line prints it without a traceback and exits with 2."""
