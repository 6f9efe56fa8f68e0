"""A table of a paper: its rows, and the folders of their runs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.settings.differences import FOLDERS, FREE, SPREAD
from lit_video.settings.nested import short_key
from lit_video.utils.text import did_you_mean

METRIC = "test/video_top1"
LEFT_OPEN = (*FREE, *FOLDERS, *SPREAD)  # settings that a run of a row may choose
OWN_SCALE = "own"  # scale of tables of a user's own videos, without a paper
MERGED_KEY = "model.size"  # the one mapping that a row's does not replace as a whole, but key by key
LEFT_TO_FILES = object()  # stands for the value of a setting that a row leaves to its files
OF_RUN = "run:"  # model.weights run:TABLE/SCALE/ROW names the weights of that row's run with the same seed


def papers_own(key: str) -> bool:
    """Return whether a paper's number is for another data set, so that no run measures it (``K400 top1``)."""
    return "/" not in key


def data_sets(scale: str) -> set[str]:
    """Return the data sets of a scale, the names of its overlays without a recipe: ``ssv2`` for ``ssv2-released``."""
    return set(re.sub("-(paper|released)$", "", scale).split("+"))


def holds(row_value: Any, value: Any) -> bool:
    """Return whether a run's value is its row's, which may omit a class's module and give a scheme as FILE.py:CLASS."""
    if not isinstance(row_value, str):
        return isinstance(row_value, dict) or bool(value == row_value)
    if row_value.startswith(OF_RUN):
        return f"/{row_value[len(OF_RUN) :]}/seed" in f"/{value}"

    module, _, name = str(value).rpartition(".")
    file, _, class_name = row_value.partition(":")
    return row_value in (value, name) or (Path(file).name == f"{module}.py" and class_name in ("", name))


@dataclass(frozen=True)
class Row:
    """One row of a table."""

    name: str
    label: str
    settings: dict[str, Any]  # at the table's scale: from recipe, table and row; later ones win
    paper: dict[str, float]  # by metric; keys such as ``K400 top1`` are for other data sets
    published: dict[str, str] = field(default_factory=dict)  # the cost that the paper prints
    is_control: bool = False  # tells what a scheme reads of time, which the row does not

    def differs(self, other: "Row", key: str) -> bool:
        """Return whether two rows set a key, or a setting around it, to different values; null is a value too."""
        whole = short_key(key)
        while self.settings.get(whole, LEFT_TO_FILES) == other.settings.get(whole, LEFT_TO_FILES):
            whole = whole.rpartition(".")[0]
            if "." not in whole:  # a group alone, such as ``model``, is no setting
                return False
        return True


@dataclass(frozen=True)
class Table:
    """A table of a paper, from the ``table`` section of an experiment's YAML file."""

    name: str  # stem of the file
    path: Path
    scale: str  # names of the overlays joined by "+", else the table's own scale
    title: str
    source: str  # paper and table number
    metric: str = METRIC  # compared with the paper
    rows: list[Row] = field(default_factory=list)  # in the paper's order
    reported: list[Row] = field(default_factory=list)  # methods that are not implemented here
    data_set: str = ""  # data set of the paper's numbers; empty if the table names none
    data: str = ""  # class of this data set, from the overlay with its name
    settings: dict[str, Any] = field(default_factory=dict)  # the files' trainer, data and model, for all rows
    own: Mapping[Path, Mapping[str, Any]] = field(default_factory=dict)  # settings of the user's own files, after rows

    def settings_of(self, row: Row) -> dict[str, Any]:
        """Return a row's settings with those of the files; what a row sets replaces what a file has below it."""
        of_files = {}
        for key, value in self.settings.items():
            if not any(f"{key}.".startswith(f"{whole}.") for whole in row.settings):
                of_files[key] = value
        return of_files | row.settings

    def changed(self, row: Row, flat: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
        """Return the settings in which a run differs from its row in the table's files: both values, by key."""
        row_values = self.settings_of(row)
        changed = {}
        for key, value in flat.items():
            name = short_key(key)
            if name in row_values and not key.startswith(LEFT_OPEN) and not holds(row_values[name], value):
                changed[name] = (row_values[name], value)
        return changed

    def overridden(self, row: Row, flat: Mapping[str, Any]) -> str:
        """Describe the first overridden setting in which rows, or the data sets of scales, differ; empty if none."""
        used = {short_key(key): value for key, value in flat.items()}
        data = used.get("data", self.data)
        if self.data and not holds(self.data, data):
            return f"data is {data}, scale {self.scale} has {self.data}; other videos need a scale of another name"

        for key, row_value in row.settings.items():
            value = used.get(key, row_value)
            if holds(row_value, value):
                continue
            if any(row.differs(other, key) for other in self.rows):  # a setting that all rows share may be overridden
                return f"{key} is {value}, row {row.name} sets {row_value}"
        return ""

    @property
    def controls(self) -> set[str]:
        """Names of the rows that are controls."""
        return {row.name for row in self.rows if row.is_control}

    @property
    def papers(self) -> dict[str, float]:
        """The paper's numbers of the compared metric, by row."""
        return {row.name: row.paper[self.metric] for row in self.rows if self.metric in row.paper}

    @property
    def on_papers_data(self) -> bool:
        """True if values can be compared with the paper's, not only the order of the rows."""
        return bool(self.data_set) and self.data_set in data_sets(self.scale)

    @property
    def other_data(self) -> set[str]:
        """Data sets of the paper's further numbers, by keys such as ``K400 top1``."""
        names = set()
        for row in self.rows:
            for key in filter(papers_own, row.paper):
                names.add(key.split()[0].lower())
        return names

    def row(self, name_or_index: str) -> Row:
        """Return a row by name, or by its index from 0 (a Slurm array's task id)."""
        names = [row.name for row in self.rows]
        if name_or_index in names:
            return self.rows[names.index(name_or_index)]
        if name_or_index.isdigit() and int(name_or_index) < len(names):
            return self.rows[int(name_or_index)]

        near = did_you_mean(name_or_index, names)
        choices = f"{', '.join(names)} (or 0 to {len(names) - 1})"
        raise UserError(f"{self.path}: no row {name_or_index!r}{near}; rows: {choices}")

    def run_dir(self, runs: Path, row: Row, seed: int) -> Path:
        """Return the folder of a row's run with a seed."""
        return runs / self.name / self.scale / row.name / f"seed{seed}"
