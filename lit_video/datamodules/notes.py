"""What a data set has to say about itself, in one line each."""

import sys
from functools import cache

from lightning.pytorch.utilities import rank_zero_only


@rank_zero_only
@cache
def print_once(line: str) -> None:
    """One line on the error stream, once per process: settings are checked before they are used."""
    print(line, file=sys.stderr, flush=True)
