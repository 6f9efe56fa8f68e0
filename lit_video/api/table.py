"""A table as it stands, beside the paper's numbers."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from lit_video.api.arguments import File, Files, checked_seeds, existing_path, listed, refuse_unwritable
from lit_video.errors import UserError
from lit_video.reports.verdicts import of_table
from lit_video.tables.reading import read_table
from lit_video.tables.rendering import measured_groups, render, summary_parts
from lit_video.tables.summary import TableRuns, TableSummary, read_runs
from lit_video.utils.files import user_path, write_bytes, writing
from lit_video.utils.text import Part, Shown


@dataclass(frozen=True, repr=False)
class ShownTable(Shown):
    """A table with the results of its runs."""

    read: TableRuns

    @property
    def data(self) -> TableSummary:
        """The paper's numbers beside those of the runs, see :func:`lit_video.summary`."""
        return self.read.data

    @cached_property
    def verdicts(self) -> list[str]:
        """Tally of the paper's claims that these runs judge, then a line for each claim; empty if they judge none."""
        return of_table(self.read)

    def parts(self) -> Sequence[Part]:
        """Return the table's parts and the verdicts."""
        return [*summary_parts(self.data), *filter(None, ["\n".join(self.verdicts)])]

    def text(self, form: Literal["text", "json", "markdown"] = "text", pairs: bool = False) -> str:
        """Return the table as ``lit_video table`` prints it; ``pairs`` adds the differences of all pairs of rows."""
        lines = [render(self.data, form, pairs)]
        if form != "json" and self.verdicts:
            lines += ["", *self.verdicts]
        return "\n".join(lines)

    def plot(self, path: File) -> Path:
        """Draw the direction by skill, or the accuracy by group of classes, as ``.png`` or ``.svg``; return the path.

        Raises:
            UserError: no run was tested on groups of classes, or the file cannot be written.
        """
        from lit_video.inference.result_pictures import heat_map  # here, because importing it takes seconds
        from lit_video.utils.figures import content_of

        file = refuse_unwritable("plot", user_path(path), (".png", ".svg"))
        data = self.data
        groups = measured_groups(data.rows)
        if not groups:
            raise UserError(f"--plot {file}: no run of {data.table} was tested on groups of classes, such as skills")
        figure = heat_map(groups[0], f"{data.title}, scale {data.scale}: {groups[0].kind} in %")
        with writing("--plot", file):
            write_bytes(file, content_of(figure, file.suffix[1:].lower(), bbox_inches="tight"))
        return file


def table(
    table: Files,
    overlays: Files = (),
    *,
    runs: File | None = None,
    seeds: Iterable[int] | None = None,
    recipe: str | None = None,
    overridden: bool = False,
) -> ShownTable:
    """Read a table as it stands, beside the paper's numbers.

    Args:
        table: name or path of the table's YAML, such as ``ablation_tw``.
        overlays: names or paths of further files, such as ``scale/ssv2``.
        runs: folder of runs or packs; ``None`` for ``runs``, which may be missing.
        seeds: seeds of each row; ``None`` for all that were run.
        recipe: the scale's recipe where the paper and its code disagree.
        overridden: also runs with other settings than the table's, labelled.

    Raises:
        UserError: a file is wrong, or a run is damaged or cannot be compared.
    """
    configs = [*listed(table), *listed(overlays)]
    if not configs:
        raise UserError("name a table, by its YAML or its name, such as ablation_tw")

    folder = Path("runs") if runs is None else existing_path(runs, "no such folder")
    chosen = None if seeds is None else checked_seeds(seeds)
    measured = read_runs(read_table(configs, recipe), folder, chosen, overridden=overridden)
    return ShownTable(measured)
