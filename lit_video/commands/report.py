"""The ``report`` command: one static page of everything below some folders. Imports no torch."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import lit_video
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.utils.files import write_bytes


def report(argv: list[str]) -> int:
    """Write the page; an older one stays as it is if that fails."""
    parser = Parser("report", "One page, without a server or network, of all results below some folders.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help="a runs folder, or one inside it")
    parser.add_argument("-o", "--output", type=Path, default=Path("report.html"), help="default: report.html")
    parser.add_argument("--experiments", type=Path, metavar="DIR", help="where the tables' YAML files are")
    known = parser.parse_args(argv)
    _check_output(known.output)
    experiments = _experiments(known.experiments)
    from lit_video.reports.html.collect import collect
    from lit_video.reports.html.page import render_page

    sections = collect(known.runs, experiments)
    page = render_page(sections, shlex.join(["python", "-m", "lit_video", "report", *argv]))
    try:
        write_bytes(known.output, page.encode())
    except OSError as error:
        raise UserError(f"--output {known.output}: {error.strerror}") from error
    runs = sum(len(each) for section in sections for each in section.runs.values())
    print(f"wrote {known.output}: {len(sections)} tables, {runs} runs, {_size(page)}", file=sys.stderr)
    return 0


def _check_output(path: Path) -> None:
    """Refuse what cannot be written before the work for it is done."""
    if path.is_dir():
        raise UserError(f"--output {path}: is a folder; give a file such as {path / 'report.html'}")
    if not path.parent.is_dir():
        raise UserError(f"--output {path}: no such folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"--output {path}: writing there is not permitted")


def _experiments(given: Path | None) -> Path:
    """The folder given; else ``experiments`` in the working directory; else beside the package."""
    if given and not given.is_dir():
        raise UserError(f"--experiments {given}: no such folder")
    places: Sequence[Path] = (
        [given] if given else [Path("experiments"), Path(lit_video.__file__).parents[1] / "experiments"]
    )
    return next((place for place in places if place.is_dir()), places[0])


def _size(page: str) -> str:
    return f"{len(page.encode()) / 1e6:.1f} MB"
