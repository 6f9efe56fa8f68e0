"""The nearest of some names to one that is wrong. Imports no torch."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """`` (did you mean X?)``, to go on a message with; empty where no name is near."""
    by_lower = {name.lower(): name for name in names}
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f" (did you mean {by_lower[near[0]]}?)" if near else ""
