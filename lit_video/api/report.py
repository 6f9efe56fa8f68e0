"""Results as one page that opens without a server."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import logging
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lit_video.api.arguments import File, places, refuse_unwritable
from lit_video.errors import UserError
from lit_video.utils.files import user_path, write_bytes, writing
from lit_video.utils.messages import ASIDE
from lit_video.utils.text import Part, Shown, TextTable, plural, printable, to_bytes
from lit_video.utils.yaml_files import find_experiments

_logger = logging.getLogger(__name__)

RUNS_HERE = ("runs", "own")  # folders that fit and finetune write


@dataclass(frozen=True, repr=False)
class Report(Shown):
    """A page of results that was written."""

    path: Path
    tables: dict[str, int]  # number of runs by table and scale, TABLE (SCALE)
    verdicts: str  # tally of the papers' claims; empty if none was judged
    left_out: list[str]  # a line for each folder or run that cannot be read

    def parts(self) -> Sequence[Part]:
        """Return where the page is, its tables, the tally, and what is left out."""
        body = [[name, str(runs)] for name, runs in self.tables.items()]
        grid = TextTable("", ["table", "runs"], body)
        return [f"page: {self.path}", grid, *filter(None, [self.verdicts]), *self.left_out]


def report(
    runs: File | Sequence[File] | None = None,
    *,
    output: File = "report.html",
    experiments: File = "experiments",
    overridden: bool = False,
) -> Report:
    """Write all results below some folders as one page that opens without a server.

    The page has tables, statistics, learning curves and confusions. If it cannot be made, an older page is kept.

    Args:
        runs: folders of runs; ``None`` for ``runs`` and ``own``, which ``fit`` and ``finetune`` write.
        output: file to write.
        experiments: folder of the tables' YAML files.
        overridden: whether to show runs with other settings than their row's too; their labels name these settings.

    Raises:
        UserError: there is no finished run, or the page cannot be made or written.
    """
    file = refuse_unwritable("output", user_path(output))
    folder = find_experiments(experiments)
    try:
        from lit_video.reports.html.collect import collect
        from lit_video.reports.html.page import render_page
        from lit_video.reports.verdicts import judge_claims, tally
        from lit_video.tables.claims import read_claims
    except ImportError as error:
        raise UserError(f"report: {error.name} is not installed; pip install 'lit_video[report]'") from None

    damaged: list[UserError] = []
    where = places(runs) if runs else _runs_here()
    sections = collect(where, folder, damaged=damaged, overridden=overridden)
    if damaged and not sections:
        raise damaged[0]

    claims = read_claims(folder)
    names = {section.table.name for section in sections}
    judged = judge_claims([claim for claim in claims if claim.table.name in names], sections)
    command = _command(where, output, experiments, overridden=overridden)
    page = to_bytes(render_page(sections, claims, judged, command=command))
    with writing("--output", file):
        write_bytes(file, page)

    tables = {f"{section.table.name} ({section.table.scale})": len(section.finished) for section in sections}
    held = f"{plural(len(sections), 'table')}, {plural(sum(tables.values()), 'run')}"
    verdicts = tally(judged) if judged else ""
    left_out = list(dict.fromkeys(printable(str(error)) for error in damaged))
    for line in filter(None, [f"wrote {file}: {held}, {len(page) / 1e6:.1f} MB", verdicts]):
        _logger.log(ASIDE, line)
    for line in left_out:
        _logger.warning(f"error: left out: {line}")
    return Report(file, tables, verdicts, left_out)


def _runs_here() -> list[Path]:
    """Return the folders of runs that are in the working directory."""
    here = [folder for folder in map(Path, RUNS_HERE) if folder.is_dir()]
    if not here:
        raise UserError(
            f"no folder {' or '.join(RUNS_HERE)} here, which fit and finetune write; name a folder of runs, or train "
            "some: lit_video fit TABLE, or lit_video finetune DIR"
        )
    return here


def _command(runs: Sequence[Path], output: File, experiments: File, *, overridden: bool) -> str:
    """Return the command that makes this page."""
    words = ["report", *map(str, runs), "-o", str(output)]
    if str(experiments) != "experiments":
        words += ["--experiments", str(experiments)]
    if overridden:
        words.append("--overridden")
    return f"lit_video {shlex.join(words)}"
