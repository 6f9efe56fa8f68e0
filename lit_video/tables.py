"""A table of a paper: its rows, where their runs live, and what came of them. Imports no torch."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.yamlfile import read_yaml

METRIC = "test/video_top1"


@dataclass(frozen=True)
class Row:
    """One row: the settings that make it, what the paper measured with them, and the cost that it prints."""

    name: str
    label: str
    settings: dict[str, Any]
    paper: dict[str, float]
    published: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A table of a paper, from the ``table`` section of an experiment's YAML file.

    Args:
        name: of the YAML file.
        path: of the YAML file.
        scale: names of the overlays, or of the table's own scale.
        title: what the table is about.
        source: paper and table number.
        metric: what the difference is taken of.
        rows: in the paper's order.
    """

    name: str
    path: Path
    scale: str
    title: str
    source: str
    metric: str = METRIC
    rows: list[Row] = field(default_factory=list)

    def row(self, which: str) -> Row:
        """A row by name, or by its index from 0 (a Slurm array's task id).

        Raises:
            UserError: there is none.
        """
        names = [row.name for row in self.rows]
        if which in names:
            return self.rows[names.index(which)]
        if which.isdigit() and int(which) < len(names):
            return self.rows[int(which)]
        last = len(names) - 1
        raise UserError(f"{self.path}: no row {which!r}; rows: {', '.join(names)} (or 0 to {last})")

    def run_dir(self, runs: Path, row: Row, seed: int) -> Path:
        """Where a row's run with a seed lives."""
        return runs / self.name / self.scale / row.name / f"seed{seed}"


def read_table(configs: Sequence[Path]) -> Table:
    """The table of an experiment: of the first file that has a ``table`` section; further files are overlays.

    Files without a table make a table of one row, named ``run``.

    Raises:
        UserError: a file or its ``table`` section is wrong.
    """
    contents = {path: read_yaml(path) for path in configs}
    path = next((path for path, content in contents.items() if "table" in content), configs[0])
    section = contents[path].get("table", {})
    if not isinstance(section, dict):
        raise UserError(f"{path}: table: expected keys and values")
    overlays = [overlay.stem for overlay in configs[list(configs).index(path) + 1 :]]
    allowed = {"title", "source", "scale", "metric", "set", "rows"}
    _refuse_unknown(path, "table", section, allowed)
    shared = _mapping(path, "table.set", section.get("set", {}))
    rows = _mapping(path, "table.rows", section.get("rows", {"run": {}}))
    return Table(
        name=path.stem,
        path=path,
        scale="+".join(overlays) or str(section.get("scale", "default")),
        title=str(section.get("title", path.stem)),
        source=str(section.get("source", "")),
        metric=str(section.get("metric", METRIC)),
        rows=[_row(path, str(name), content, shared) for name, content in rows.items()],
    )


def _row(path: Path, name: str, content: Any, shared: dict[str, Any]) -> Row:
    where = f"table.rows.{name}"
    content = _mapping(path, where, content or {})
    _refuse_unknown(path, where, content, {"label", "set", "paper", "published"})
    settings = shared | _mapping(path, f"{where}.set", content.get("set", {}))
    for key, value in settings.items():
        if key.split(".")[0] not in {"model", "data", "trainer"} or isinstance(value, dict):
            raise UserError(f"{path}: {where}.set.{key}: expected a model, data or trainer setting with a plain value")
    paper = _mapping(path, f"{where}.paper", content.get("paper", {}))
    for key, value in paper.items():
        if not isinstance(value, int | float):
            raise UserError(f"{path}: {where}.paper.{key}: expected a number, got {value!r}")
    printed = _mapping(path, f"{where}.published", content.get("published", {}))
    _refuse_unknown(path, f"{where}.published", printed, {"params", "cost"})
    for key, value in printed.items():
        if not re.fullmatch(r"\d+(\.\d+)?[MGT]", str(value)):
            raise UserError(f"{path}: {where}.published.{key}: expected a figure such as 85.9M or 0.59T, got {value!r}")
    return Row(name, str(content.get("label", name)), settings, paper, printed)


def _mapping(path: Path, where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{path}: {where}: expected keys and values, got {value!r}")
    return value


def _refuse_unknown(path: Path, where: str, content: dict[str, Any], allowed: set[str]) -> None:
    for key in content:
        if key not in allowed:
            raise UserError(f"{path}: {where}.{key}: no such key; expected one of {', '.join(sorted(allowed))}")


def read_result(run_dir: Path) -> dict[str, Any] | None:
    """The ``result.json`` of a finished run; ``None`` for a run that is not finished.

    Raises:
        UserError: the file is damaged.
    """
    path = run_dir / "result.json"
    try:
        result: dict[str, Any] = json.loads(path.read_text())
        return result
    except FileNotFoundError:
        return None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise UserError(f"{path}: damaged; delete it and run the row again") from None


def results(table: Table, runs: Path, row: Row, seeds: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """Results of a row, by seed: of all seeds found, or of the given ones."""
    folders = (runs / table.name / table.scale / row.name).glob("seed*")
    found = {int(folder.name[4:]): read_result(folder) for folder in folders if folder.name[4:].isdigit()}
    return [result for seed, result in sorted(found.items()) if result and (seeds is None or seed in seeds)]
