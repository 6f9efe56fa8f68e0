"""Parameters and multiply-adds of the papers' models, or of a table's rows."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from lit_video.api.arguments import Files, Rows, listed, request_for
from lit_video.errors import UserError
from lit_video.network.multiply_adds import CONVENTION, COST_HEADER, compare_with_paper, cost_cells, published
from lit_video.reports.verdicts import of_costs
from lit_video.settings.flags import Settings, as_user_settings
from lit_video.training.costs import count_published, table_costs
from lit_video.utils.parallel import with_progress
from lit_video.utils.text import Part, Shown, TextTable


@dataclass(frozen=True, repr=False)
class Costs(Shown):
    """Counts beside the papers' figures."""

    rows: list[dict[str, Any]]  # see lit_video.network.multiply_adds.compare_with_paper
    verdicts: Sequence[str] = ()  # on the papers' claims about costs, see lit_video.reports.verdicts.of_costs

    def parts(self) -> Sequence[Part]:
        """Return a table for each source, their notes, and how products are counted."""
        marks = {"": ""}
        bodies: dict[str, list[list[str]]] = {}
        for row in self.rows:
            mark = marks.setdefault(row["note"], f"[{len(marks)}]")
            bodies.setdefault(row["source"], []).append([*cost_cells(row), mark])

        tables = [TextTable(source, COST_HEADER, body) for source, body in bodies.items()]
        notes = "\n".join(f"{mark} {note}" for note, mark in marks.items() if note)
        return [*tables, *filter(None, [notes]), CONVENTION, *filter(None, ["\n".join(self.verdicts)])]

    @property
    def json(self) -> str:
        """The rows as JSON."""
        return json.dumps(self.rows, indent=2)


def cost(
    table: Files = (),
    overlays: Files = (),
    rows: Rows | None = None,
    *,
    settings: Settings = (),
    recipe: str | None = None,
) -> Costs:
    """Count parameters and multiply-adds of the papers' models, or of a table's rows.

    Args:
        table: name or path of a table's YAML; without one, the models of the papers are counted.
        overlays: names or paths of further files, such as ``scale/ssv2``.
        rows: names or numbers of some rows; ``None`` for all.
        settings: nested data as in a YAML file, over files and rows.
        recipe: the scale's recipe where the paper and its code disagree.

    Raises:
        UserError: a file, a row or a setting is wrong.
    """
    user_settings = as_user_settings(settings)
    if [*listed(table), *listed(overlays)]:
        request = request_for(table, overlays, rows, settings=user_settings, recipe=recipe)
        import_module("lit_video.training.run")  # seconds that are no part of the first row's time
        costs = with_progress(table_costs(request), len(request.rows), "rows counted")
        counted = [compare_with_paper(model, count) for model, count in costs]
        gmacs = {row.name: cost["macs_per_view"] / 1e9 for row, cost in zip(request.rows, counted, strict=True)}
        return Costs(counted, [] if user_settings else of_costs(request.table, gmacs))

    asked = {"row": rows, "recipe": recipe}
    flags = [f"--{name}" for name, value in asked.items() if value] + [setting.flag for setting in user_settings]
    if flags:
        raise UserError(f"{flags[0]}: needs a table; name one")

    models = published()
    import_module("lit_video.modules")  # seconds that are no part of the first model's time
    counts = with_progress(map(count_published, models), len(models), "models counted")
    return Costs([compare_with_paper(model, counted) for model, counted in zip(models, counts, strict=True)])
