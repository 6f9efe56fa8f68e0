"""The runs of tables."""

from collections.abc import Sequence
from pathlib import Path

from lit_video.errors import UserError
from lit_video.training.request import Request, Run, build_request


def build_requests(
    tables: Sequence[Path],
    overlays: Sequence[Path],
    recipe: str | None,
    rows: Sequence[str] | None,
    seeds: Sequence[int],
    runs: Path,
    flags: Sequence[str],
) -> list[Request]:
    """Read the tables, each with all overlays; a table that is given twice counts once.

    Raises:
        UserError: a file or a table is wrong, or two tables' runs would be in one folder.
    """
    requests = [build_request([path, *overlays], rows, seeds, runs, recipe, flags) for path in dict.fromkeys(tables)]
    by_name: dict[str, Path] = {}
    for request in requests:
        path = request.configs[0]
        other = by_name.setdefault(request.table.name, path)
        if other != path:
            raise UserError(f"{path}: has the name of {other}, and so its runs the same folders; rename one")
    return requests


def unfinished(runs: Sequence[Run]) -> list[Run]:
    """The runs without a result, or with one of a shorter training; finds what mistakes can be found before training.

    Raises:
        UserError: the first mistake in any run, with file, row and key.
    """
    from lit_video.training.run import is_done  # here, because importing torch takes seconds
    from lit_video.training.run_folder import writable

    left = [run for run in runs if not is_done(run)]
    for run in runs:  # before this nothing is written
        writable(run.folder)
    if len(left) < len(runs):
        print(f"{len(runs) - len(left)} of {len(runs)} runs are finished, skipped", flush=True)
    return left


def rounds(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that train, then those that ``--reuse`` lets take over what one of these has trained."""
    from lit_video.training.reuse import first_of_each
    from lit_video.training.run import build_row

    firsts = first_of_each([build_row(run).resolved() for run in runs])
    divided = [[run for run, first in zip(runs, firsts, strict=True) if first is wanted] for wanted in (True, False)]
    return [each for each in divided if each]
