"""What the rows of a figure of costs cost, in ``REPRODUCE.md``. Imports no torch."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.network.cost import CONVENTION, HEADER, cells
from lit_video.tables.damage import Damage
from lit_video.tables.table import Table
from lit_video.utils.files import read_text
from lit_video.utils.text_tables import markdown_lines

FILE = "cost.json"  # what the command below prints, in the folder of a table and scale


def counted_costs(table: Table, runs: Path, damage: Damage) -> Iterator[str]:
    """A section for each scale at which the table's costs are kept."""
    for folder in sorted((runs / table.name).glob("*")):
        if body := damage.read(_read, folder):
            scale = table.path.parent / "scale" / f"{folder.name}.yaml"
            command = f"python -m lit_video cost --config {table.path.as_posix()} --config {scale.as_posix()} --json"
            parts = (f"**{table.title} - {table.source}; ours: scale {folder.name}**", f"`{command}`, nothing trained.")
            yield "\n\n".join([*parts, markdown_lines(HEADER[:-1], body), CONVENTION])


def _read(folder: Path) -> list[list[str]] | None:
    path = folder / FILE
    try:
        rows: list[dict[str, Any]] = json.loads(read_text(path))
        return [cells(row) for row in rows]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"{path}: damaged; delete it and write it again: python -m lit_video cost --json") from None
