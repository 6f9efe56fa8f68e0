"""Printed tables: row, params, GMACs, paper, ours, difference (only on the paper's data), seeds."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lit_video.runs.predictions import BOTH, DIRECTION, ORDERS, RECOGNISED
from lit_video.tables.agreement import WITHOUT, Pair
from lit_video.tables.comparing import ONE_SEED, on_skills
from lit_video.tables.statistics import Interval
from lit_video.tables.summary import RowSummary, TableSummary
from lit_video.tables.table import OWN_SCALE, papers_own
from lit_video.utils.text import Part, TextTable, as_markdown, as_text, markdown_lines, natural, plural

NOT_RUN = "not run"
PAPER_ONLY = "paper only"
ONE_SEED_ONLY = "One seed gives numbers and no order: add --seeds 0,1,2"
GROUP = re.compile("test/[^/]*/[^/]*")  # metric of a group of classes: test/KIND/NAME
REACH = (
    "; reach: largest distance of two frames that interact in the scores, by attention or by a norm after their mean; "
    "blind: no order of the frames changes its output; blind to reversal: reversed frames do not, other orders do"
)
# accuracies without comparing frames; test_circle_of_time.py shows that both are exact
FLOORS = "; blind models and one frame at a known time: 50"
BOUND = "bound of any sum over frames"
NEIGHBOURS = "best of two neighbouring frames"


@dataclass(frozen=True)
class FloorRow:
    """Accuracies by group, in percent, that are known without a model; the last rows of a table."""

    label: str
    reach: str
    accuracies: list[float | None]


@dataclass(frozen=True)
class GroupAccuracies:
    """Accuracies of rows by group, in percent."""

    kind: str  # direction or recognised, by skill; else a noun for the user's groups of classes
    names: list[str]
    rows: list[tuple[RowSummary, list[float | None]]]  # (summary of a row with results, its accuracies by group)

    @property
    def title(self) -> str:
        """Title of the table, with the floors of its accuracies, and an explanation of the reach if a row has one."""
        measure = {"direction": "Direction by skill", "recognised": "Recognised by skill"}
        title = f"{measure.get(self.kind, f'Top-1 by {self.kind}')}, means over seeds"
        if self.floor:
            title += FLOORS
        if any(reach_text(row) for row, _ in self.rows):
            title += REACH
        return title

    @property
    def floor(self) -> float:
        """Accuracy in percent without comparing frames: 50 for the direction; 0 where none is known."""
        return 50.0 if self.kind == "direction" else 0.0

    @property
    def floor_rows(self) -> list[FloorRow]:
        """Highest direction by skill of two neighbouring frames, and of a sum over frames, where rows record them."""
        if self.kind != "direction":
            return []

        pairs: dict[str, float] = {}
        sums: dict[str, float] = {}
        for row, _ in self.rows:
            pairs |= (row.first and row.first.two_frames_ceilings) or {}
            sums |= (row.first and row.first.sum_ceilings) or {}
        floors = (
            FloorRow(NEIGHBOURS, "1", [pairs.get(name) for name in self.names]),
            FloorRow(BOUND, "0", [sums.get(name) for name in self.names]),
        )
        return [floor for floor in floors if any(value is not None for value in floor.accuracies)]


def render(summary: TableSummary, form: Literal["text", "json", "markdown"], pairs: bool = False) -> str:
    """Return a summary as text, JSON or Markdown; ``pairs`` adds the differences of all pairs of rows."""
    if form == "json":
        return json.dumps(summary.plain(), indent=2)
    parts = summary_parts(summary, pairs)
    if form == "text":
        return "\n\n".join(map(as_text, parts))

    paragraphs: list[str] = []
    for part in parts:
        if isinstance(part, str):
            paragraphs.append(part)
        else:
            paragraphs.append(f"**{as_markdown(part.title)}**\n\n{markdown_lines(part.header, part.body)}")
    return "\n\n".join(paragraphs)


def summary_parts(summary: TableSummary, pairs: bool = False) -> list[Part]:
    """Return what shows a table's results: terms, the table, its groups, sentences on the paper's order, pairs."""
    parts: list[Part] = ["; ".join(summary.terms)] if summary.terms else []
    parts.append(TextTable(*main_table(summary)))
    parts += [TextTable(*groups_table(groups)) for groups in measured_groups(summary.rows)]
    if any(row.begun for row in summary.rows):
        parts.append(TextTable(*speed_table(summary.rows)))
    parts += sentences(summary)
    if pairs:
        parts.append(TextTable(*pairs_table(summary)))
    return parts


def main_table(summary: TableSummary) -> tuple[str, list[str], list[list[str]]]:
    """Return title, header and body of a table.

    Its columns are the table's metric, further metrics of the paper, and tests with the frames in other orders.
    """
    rows = [*summary.reported, *summary.rows]
    printed = set[str]()
    for row in rows:
        printed |= {key for key, numbers in row.metrics.items() if numbers.paper is not None}

    title = f"{summary.title} - {summary.source}"
    ending_of_ours = ""
    if summary.scale != OWN_SCALE:
        title = f"{title}; ours: scale {summary.scale}"
        ending_of_ours = " ours"

    abilities = [key for key in (RECOGNISED, DIRECTION, BOTH) if _measured(rows, key)]
    endings = dict.fromkeys([summary.metric, *sorted(printed), *abilities], ending_of_ours)
    for order in ORDERS:
        key = f"{order}/{summary.compared.partition('/')[2]}"
        if _measured(rows, key):
            endings[key] = f" {order}"

    columns = []  # header, metric, number that is shown
    for key, ending in endings.items():
        name = key.rpartition("/")[2].removeprefix("video_").replace("_", " ")
        if key in printed:
            columns.append((f"{name} paper", key, "paper"))
        if not papers_own(key):
            columns.append((f"{name}{ending}", key, "ours"))
            if key in printed and summary.on_papers_data and ending == ending_of_ours:
                columns.append(("diff.", key, "diff."))

    body = [_cells(row, columns, PAPER_ONLY) for row in summary.reported]
    body += [_cells(row, columns, NOT_RUN) for row in summary.rows]
    return title, ["row", "params", "GMACs", *(name for name, *_ in columns), "seeds"], body


def _measured(rows: Sequence[RowSummary], metric: str) -> bool:
    """Return whether a run of some row measured a metric."""
    return any(row.numbers(metric).ours is not None for row in rows)


def _cells(row: RowSummary, columns: Sequence[tuple[str, str, str]], absent: str) -> list[str]:
    cells = [row.label, "", ""]
    if row.first is not None:
        cells[1:] = [f"{row.first.params / 1e6:.3g}M", f"{row.first.gmacs:.3g} x {row.first.views}"]
        absent = "-"  # the row was run, but without this metric
    for _, key, shown in columns:
        numbers = row.numbers(key)
        if shown == "paper":
            cells.append(_percent(numbers.paper))
        elif shown == "diff.":
            cells.append("" if numbers.difference is None else f"{numbers.difference:+z.1f}")
        else:
            cells.append(_percent(numbers.ours, absent, numbers.std))
    return [*cells, seeds_text(row.seeds)]


def _percent(value: float | None, absent: str = "", deviation: float | None = None) -> str:
    if value is None:
        return absent
    return f"{value:z.1f}" if deviation is None else f"{value:z.1f} ± {deviation:.1f}"


def sentences(summary: TableSummary) -> list[str]:
    """Say how far our runs agree with the paper; nothing if the paper orders no rows, one line if all have one seed."""
    result = summary.agreement
    if not result.orderings:
        return []
    if result.without.get(ONE_SEED) == len(result.orderings):
        return [f"{ONE_SEED_ONLY}."]

    tau = "undefined" if result.tau is None else f"{result.tau:+z.2f}"
    without = "".join(f"; {number} more {verdict}" for verdict, number in result.without.items())
    lines = [
        f"Order of {result.rows} rows against the paper: Kendall's tau {tau}. Of its {len(result.orderings)} "
        f"orderings of two rows, all tested at once (Holm), our runs support {result.supported}, contradict "
        f"{result.contradicted} and leave {result.undecided} undecided{without}, by {certainty(summary)}."
    ]

    labels = summary.labels
    for verdict in ("contradicted", "undecided", *WITHOUT):
        texts = []
        for pair in result.orderings:
            if pair.verdict == verdict:
                texts.append(f"{labels[pair.first]} > {labels[pair.second]} ({interval_text(pair)})")
        if texts:
            lines.append(f"{verdict}: {'; '.join(texts)}")
    return lines


def certainty(summary: TableSummary) -> str:
    """Say what the intervals cover, what a single seed does not tell, and whether rows have different seeds.

    Different seeds may have been added after a look at the results.
    """
    rows = [row for row in summary.rows if row.seeds]
    once = [row.label for row in rows if len(row.seeds) == 1]
    videos = "test videos"
    if draws := summary.draws:
        videos += f" ({plural(draws.count, draws.kind)}, each one draw)"
    if once and len(once) == len(rows):
        return f"95 % intervals over {videos}. {ONE_SEED_ONLY}"

    unequal = ""
    counts = [len(seeds) for seeds in {tuple(row.seeds) for row in rows}]
    if len(counts) > 1:
        number = " to ".join(map(str, sorted({min(counts), max(counts)})))
        unequal = f"; rows have different seeds ({number} each), so not all were fixed before looking"
    if not once:
        return f"95 % intervals over {videos} and seeds{unequal}"
    advice = f"Rows of one seed ({', '.join(once)}) are compared as models, not as methods: add --seeds 0,1,2"
    return f"95 % intervals over {videos}, and over seeds in rows of several{unequal}. {advice}"


def interval_text(pair: Pair) -> str:
    """Return a difference in points with its interval, such as ``+1.2 [-0.3, +2.7]``."""
    if pair.difference is None:
        return "not comparable: needs top-1 predictions of both for the same test videos"
    low, high = (math.inf if end is None else end for end in (pair.low, pair.high))
    return f"{Interval(pair.difference, low, high)}{on_skills(pair.skills, pair.lesson)}"


def pairs_table(summary: TableSummary) -> tuple[str, list[str], list[list[str]]]:
    """Return title, header and body of the differences of all pairs of rows."""
    labels = summary.labels
    body = [[labels[pair.first], labels[pair.second], interval_text(pair)] for pair in summary.pairs]
    return f"Paired differences, with {certainty(summary)}", ["row", "less", "points"], body


def measured_groups(rows: Sequence[RowSummary]) -> list[GroupAccuracies]:
    """Return the rows' accuracies by group and kind of group."""
    metrics = set[str]().union(*(row.metrics for row in rows))
    by_kind: dict[str, list[str]] = {}
    for key in sorted(metrics, key=natural):
        if GROUP.fullmatch(key):
            kind = key.split("/")[1]
            by_kind.setdefault(kind, []).append(key)

    tested = [row for row in rows if row.seeds]
    groups = []
    for kind, keys in by_kind.items():
        names = [key.rpartition("/")[2] for key in keys]
        accuracies = [(row, [row.numbers(key).ours for key in keys]) for row in tested]
        groups.append(GroupAccuracies(kind, names, accuracies))
    return groups


def reach_text(row: RowSummary) -> str:
    """Return the temporal reach of a row's scheme in words, if its results record it."""
    first = row.first
    if first is None or first.reach is None:
        return ""
    if first.sees_order:
        return str(first.reach)
    return f"{first.reach} (blind to reversal)" if first.sees_near else f"{first.reach} (blind)"


def groups_table(groups: GroupAccuracies) -> tuple[str, list[str], list[list[str]]]:
    """Return title, header and body of the accuracy over each group of classes."""
    header = ["row", "reach", *groups.names]
    body = [[row.label, reach_text(row), *map(_percent, values)] for row, values in groups.rows]
    body += [[floor.label, floor.reach, *map(_percent, floor.accuracies)] for floor in groups.floor_rows]
    if not any(cells[1] for cells in body):
        for cells in (header, *body):
            del cells[1]
    return groups.title, header, body


def speed_table(rows: Sequence[RowSummary]) -> tuple[str, list[str], list[list[str]]]:
    """Return title, header and body of the steps after which rows tell each skill better than chance, by seed."""
    timed = [row for row in rows if row.begun]
    skills = list(dict.fromkeys(skill for row in timed for skill in row.begun))
    body = []
    for row in timed:
        of_skills = [[str(steps or "-") for steps in row.begun.get(skill, ())] for skill in skills]
        body.append([row.label, *map(", ".join, of_skills)])
    title = "Steps until directions stay above chance in validation, or at the end in the test, by seed; -: not begun"
    return title, ["row", *skills], body


def seeds_text(seeds: Sequence[int]) -> str:
    """Return seeds as ``0, 1, 2``; a single seed as ``seed 0``, since ``0`` would read as a number of seeds."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else ", ".join(map(str, seeds))
