"""The papers' printed numbers, and the trainings that stand for them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path

from lit_video.tables.reading import read_table
from lit_video.tables.table import Row, Table
from lit_video.utils.yaml_files import read_yaml

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
SCALES = ("ssv2", "k400", "k600", "epic100", "diving48", "howto100m", "moments")  # the papers' data sets


@dataclass(frozen=True)
class PrintedRow:
    """A row on a paper's data, with the number that the paper prints of it."""

    model: str  # class
    scale: str
    number: str  # printed, of the table's metric
    path: Path  # file of the table
    row: Row

    @property
    def key(self) -> tuple[str, str, str]:
        """Model, data set and number, by which rows are grouped."""
        return self.model, self.scale, self.number


def papers_tables(recipe: str) -> Iterator[Table]:
    """Yield the papers' tables at each of their data sets, with a recipe, where their family has it."""
    for path in sorted(EXPERIMENTS.glob("*.yaml")):
        family = read_yaml(path).get("table", {}).get("family")
        for scale in SCALES if family else ():
            overlay = EXPERIMENTS / "scale" / f"{scale}.yaml"
            if recipe in read_yaml(overlay)["recipes"][family]:
                table = read_table([path, overlay], recipe)
                if table.on_papers_data:
                    yield table


def printed_rows(recipe: str) -> list[PrintedRow]:
    """Return the rows of the papers' tables with a printed number, with a recipe, sorted."""
    found = []
    for table in papers_tables(recipe):
        of_files = read_yaml(table.path.parent / read_yaml(table.path)["model"])["class_path"]
        scale = table.scale.removesuffix(f"-{recipe}")
        for row in table.rows:
            if table.metric in row.paper:
                model = row.settings.get("model") or of_files
                found.append(PrintedRow(model, scale, str(row.paper[table.metric]), table.path, row))
    return sorted(found, key=lambda each: (each.key, each.path.stem))


def comments_at(path: Path, row: str, text: str | None = None) -> str:
    """Return the comments above a row of a table's file and in it; ``text`` takes the place of the file's."""
    lines = (text or path.read_text(encoding="utf-8")).splitlines()
    start = next(number for number, line in enumerate(lines) if re.match(rf"    {row}:", line))
    above = start
    while re.match(r"    #", lines[above - 1]):
        above -= 1
    later = range(start + 1, len(lines))
    end = next((number for number in later if re.match(r" {0,4}\S", lines[number])), len(lines))
    return " ".join(line.partition("#")[2].strip() for line in lines[above:end])


Comments = Callable[[Path, str], str]


@dataclass(frozen=True)
class TwoTrainings:
    """Two rows of different tables that have a printed number in common and differ."""

    first: PrintedRow
    second: PrintedRow
    settings: Sequence[str]  # in which they differ

    def __str__(self) -> str:
        rows = [f"{each.path.stem}/{each.row.name}" for each in (self.first, self.second)]
        return f"{self.first.number} on {self.first.scale}: {' and '.join(rows)} differ in {', '.join(self.settings)}"

    def is_said(self, comments: Comments) -> bool:
        """Return whether a comment at one of the rows has the number and the name of the other row's table."""
        both = ((self.first, self.second), (self.second, self.first))
        texts = [(comments(own.path, own.row.name), other.path.stem) for own, other in both]
        return any(self.first.number in text and table in text for text, table in texts)


def two_trainings(rows: Sequence[PrintedRow], comments: Comments = comments_at) -> list[TwoTrainings]:
    """Return pairs of rows of different tables with one printed number that differ in settings without a comment.

    A setting that only one of the rows has is left out, because the other's default is not known here.
    """
    found = []
    for _, group in groupby(rows, key=lambda each: each.key):
        for first, second in combinations(group, 2):
            both = first.row.settings.keys() & second.row.settings.keys()
            differing = sorted(key for key in both if first.row.settings[key] != second.row.settings[key])
            pair = TwoTrainings(first, second, differing)
            if first.path != second.path and differing and not pair.is_said(comments):
                found.append(pair)
    return found


def count_numbers() -> int:
    """Count the numbers that the papers print of the tables' rows, reported ones too, on all their data sets."""
    count = 0
    for path in sorted(EXPERIMENTS.glob("*.yaml")):
        section = read_yaml(path).get("table", {})
        if "family" not in section:
            continue
        for row in [*(section.get("rows") or {}).values(), *(section.get("reported") or {}).values()]:
            for value in (row or {}).get("paper", {}).values():
                count += len(value) if isinstance(value, dict) else 1
            count += len((row or {}).get("published", {}).keys() - {"note"})
    return count
