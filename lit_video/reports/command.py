"""The command that makes a table's results again, from the commands that made them. Imports no torch."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from lit_video.tables.table import Table

# what one run of many has, or a person chooses for it
OWN = ("--row", "--seeds", "--runs", "--jobs", "--reuse", "--trainer.logger", "--trainer.enable_progress_bar")
FILES = ("--config", "-c")


def table_command(table: Table, results: Sequence[Mapping[str, Any]]) -> str:
    """All rows and seeds of a table at the scale of its results, with every further setting that some of them had.

    A result that was taken from another table's run has that table's command, but for its first file.

    Args:
        table: at the scale.
        results: ``result.json`` of all rows and seeds.
    """
    seeds = ",".join(map(str, sorted({result["seed"] for result in results})))
    flags = dict.fromkeys(flag for result in results for flag in _further(str(result.get("command", ""))))
    words = ["python", "-m", "lit_video", "fit", "--config", table.path.as_posix()]
    return " ".join([*words, *flags, f"--seeds {seeds}"])


def _further(command: str) -> Iterator[str]:
    """Flags of a recorded command, each with its value, without the table's file and those of one run."""
    words, tables = shlex.split(command), 0
    for word, value in pairwise([*words, "--"]):
        name = word.partition("=")[0]
        tables += name in FILES
        if not _is_flag(name) or name in OWN or (name in FILES and tables == 1):
            continue
        yield shlex.join([word] if "=" in word or _is_flag(value) else [word, value])


def _is_flag(word: str) -> bool:
    return word.startswith("--") or word in FILES
