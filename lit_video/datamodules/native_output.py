"""Lines that compiled libraries write to the standard output past Python, which no option of theirs turns off."""

import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

OUTPUT = 1  # file descriptor of the standard output


@contextmanager
def dropping_lines(start: str) -> Iterator[None]:
    """Drop the lines of the standard output that begin with ``start`` in a block.

    Lines of compiled code are lines of a file descriptor, so all that the process writes in the block goes into a file
    first; the other lines are written after the block. Keep the block short.
    """
    try:
        _flush()
        screen = os.dup(OUTPUT)
    except OSError:  # no standard output, or a closed one
        yield
        return

    with tempfile.TemporaryFile() as lines:
        os.dup2(lines.fileno(), OUTPUT)
        try:
            yield
        finally:
            try:
                _flush()
            finally:
                os.dup2(screen, OUTPUT)
                os.close(screen)
            lines.seek(0)
            kept = [line for line in lines if not line.startswith(start.encode())]
            with os.fdopen(OUTPUT, "wb", closefd=False) as output:
                output.writelines(kept)


def _flush() -> None:
    """Write what Python and the C library have buffered of the standard output."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
