"""Claims of a paper, as pairs of rows of its tables; :mod:`~lit_video.tables.judging` judges them by our runs."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from lit_video.errors import UserError
from lit_video.tables.contrasts import planned_contrast, row_contrast, uncovered
from lit_video.tables.reading import read_table, table_at
from lit_video.tables.table import Table, data_sets
from lit_video.utils.yaml_files import read_yaml

# Kinds of claims about two rows, and words in a paper that stand for them:
# better: the first row is above the second
# not_worse ("enough", "as good as", "adds little"): the first row is at most a margin below the second
# equal ("matters little"): they differ by at most a margin
# spread: the seeds of one row differ by at most a margin, as a standard deviation
# cheaper: the first row needs fewer multiply-adds; counted by ``cost``, without runs
_Kind = Literal["better", "not_worse", "equal", "spread", "cheaper"]
_KINDS: tuple[_Kind, ...] = get_args(_Kind)
_NEEDED = {"claim", "section", "table"}
_OTHERS = {"numbers", "varies", "control", "margin", "untestable", "differs"}
LEAST_ALIKE = 2.0  # points; a smaller difference would take too many seeds
MOST_ALIKE = 5.0
# words of a claim that attention between frames helps; such a claim needs a control row without it
IN_TIME = re.compile("attention in time|temporal attention|transformer over time|layer of the temporal encoder")


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, in our words, and the rows by which it can be judged."""

    text: str
    source: str
    section: str  # where the paper says it
    table: Table  # with the paper's numbers of the data set that the claim is about
    kind: _Kind
    pairs: Sequence[tuple[str, str]]  # names of rows, the better one first; for a spread, one name twice
    margin: float  # points; 0 for "better"
    varies: Sequence[str]  # settings in which the rows of a pair may differ
    control: str  # the family's control, which the first row of each pair must beat too; empty if the claim needs none
    untestable: Mapping[str, str]  # reason that our data cannot decide it, by prefix of a scale's name
    scale: str  # the table's own scale; it decides if the claim's data set was not run
    follow_ups: Mapping[str, str] = field(default_factory=dict)  # further scales, and why they were run
    differs: str = ""  # reason if scales give different answers

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound, in points, between which every difference lies if the claim is true."""
        return -self.margin, self.margin if self.kind == "equal" else math.inf

    def alike(self, pair: tuple[str, str]) -> float | None:
        """Return the points within which two rows are called alike: half of the paper's difference, from 2 to 5.

        ``None`` without numbers of both, and for claims that have a margin of their own.
        """
        papers = self.table.papers
        if self.kind != "better" or not papers.keys() >= {*pair}:
            return None
        return min(max(abs(papers[pair[0]] - papers[pair[1]]) / 2, LEAST_ALIKE), MOST_ALIKE)

    def paper(self) -> list[tuple[float, float]]:
        """Return the paper's numbers of each pair; empty for a figure that prints no number."""
        papers = self.table.papers
        if self.kind == "spread":
            return []
        return [(papers[first], papers[second]) for first, second in self.pairs if papers]

    def about(self, scale: str) -> bool:
        """Return whether a scale is about the claim; it is not if its data set is another one of the paper's."""
        return self.table.other_data.isdisjoint(data_sets(scale))

    def deciding(self, scales: Sequence[str]) -> str:
        """Return the scale that decides: the claim's own data set if it was run, else the table's own scale."""
        return next(filter(self.decides, scales), self.scale)

    def decides(self, scale: str) -> bool:
        """Return whether runs at a scale are on the claim's own data set."""
        return replace(self.table, scale=scale).on_papers_data

    def why_untestable(self, scale: str) -> str:
        """Return why runs at a scale cannot decide the claim, as its file or the table's rows say; empty if they can.

        The file's reasons do not hold on the claim's own data set.
        """
        for name, why in self.untestable.items():
            if scale.startswith(name) and not self.decides(scale):
                return why
        return self._varies_more(scale)

    def _varies_more(self, scale: str) -> str:
        """Say so if the rows of a pair will differ at a scale in more than the claim names, or in nothing."""
        if self.kind == "spread":
            return ""
        table = table_at(self.table.path, scale)
        for pair in self.pairs if table.settings else ():
            if why := self.why_not_compared(pair, planned_contrast(table, *map(table.row, pair))):
                return why
        return ""

    def why_not_compared(self, pair: tuple[str, str], contrast: Sequence[str] | None) -> str:
        """Return why two rows that differ in some settings, or none, do not show what the claim says; empty if so."""
        if contrast is None:
            return f"{' and '.join(pair)} differ in nothing here"
        more = uncovered(contrast, self.varies)
        return f"{' and '.join(pair)} also differ in {', '.join(more)}" if more else ""


def read_claims(experiments: Path) -> list[Claim]:
    """Read the claims of all files under ``claims/``, beside the tables."""
    return [_read(where, content, entry, experiments=experiments) for where, content, entry in _entries(experiments)]


def _entries(experiments: Path) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """Yield each claim as its file has it, with its place for messages and the file's content."""
    for path in sorted((experiments / "claims").glob("*.yaml")):
        content = read_yaml(path)
        for number, entry in enumerate(content.get("claims", []), 1):
            yield f"{path}: claim {number}", content, entry


def _read(where: str, content: Mapping[str, Any], entry: Any, *, experiments: Path) -> Claim:
    """Read a claim from an ``entry`` of a file with some ``content``; ``where`` names the place in messages."""
    kind = _kind(where, entry)
    margin = _margin(where, entry, kind)
    varies = _varies(where, entry, kind)
    table, scale = _table(experiments, entry)
    control = _control(where, entry, kind, table=table)

    return Claim(
        text=str(entry["claim"]),
        source=str(content.get("source", "")),
        section=str(entry["section"]),
        table=table,
        kind=kind,
        pairs=_pairs(where, table, kind=kind, names=entry[kind], margin=margin, varies=varies),
        margin=margin,
        varies=varies,
        control=control,
        untestable=_untestable(where, entry.get("untestable") or {}),
        scale=scale,
        follow_ups=content.get("follow_ups", {}),
        differs=str(entry.get("differs", "")),
    )


def _kind(where: str, entry: Any) -> _Kind:
    """Return a claim's kind; refuse keys that are missing or unknown."""
    allowed = _NEEDED | _OTHERS | {*_KINDS}
    if not isinstance(entry, dict) or not _NEEDED <= entry.keys() <= allowed:
        expected = f"expected {', '.join(sorted(_NEEDED))}, one of {', '.join(_KINDS)}"
        raise UserError(f"{where}: {expected}, and perhaps {', '.join(sorted(_OTHERS))}")

    kinds = [kind for kind in _KINDS if kind in entry]
    if len(kinds) != 1:
        raise UserError(f"{where}: has {' and '.join(kinds) or 'no kind'}; give one of {', '.join(_KINDS)}")
    return kinds[0]


def _margin(where: str, entry: Mapping[str, Any], kind: _Kind) -> float:
    """Return a claim's margin in points, which every kind but ``better`` and ``cheaper`` needs."""
    exact = kind in ("better", "cheaper")
    if exact and "margin" in entry:
        raise UserError(f"{where}: {kind} takes no margin")
    if not exact and "margin" not in entry:
        raise UserError(f"{where}: {kind} needs a margin in points")

    margin = float(entry.get("margin", 0.0))
    if kind == "spread" and margin <= 0:
        raise UserError(f"{where}: {kind} needs a margin above 0")
    return margin


def _varies(where: str, entry: Mapping[str, Any], kind: _Kind) -> Sequence[str]:
    """Return the settings in which the rows of a pair may differ; a spread is about one row and has none."""
    varies = entry.get("varies", [])
    if isinstance(varies, str):
        varies = [varies]
    if bool(varies) == (kind == "spread"):
        raise UserError(f"{where}: varies: name the settings in which the rows of a pair differ, such as model.window")
    return list(varies)


def _control(where: str, entry: Mapping[str, Any], kind: _Kind, *, table: Table) -> str:
    """Return the claim's control row; empty if it needs none.

    Its table marks it as a control, unless the pairs of the claim compare it anyway.
    """
    control = str(entry.get("control", ""))
    seconds = {str(pair[-1]) for pair in entry[kind] if isinstance(pair, list) and pair}
    if control and seconds != {control} and not table.row(control).is_control:
        raise UserError(f"{where}: control: {table.name} has no `control: true` at the row {control}")
    if kind == "better" and not control and IN_TIME.search(str(entry["claim"])):
        raise UserError(f"{where}: claims that attention in time is worth something: name its control row (control)")
    return control


def _table(experiments: Path, entry: Mapping[str, Any]) -> tuple[Table, str]:
    """Return the claim's table, with the paper's numbers of the data set that it names, and the table's own scale."""
    paths = [experiments / f"{entry['table']}.yaml"]
    scale = read_table(paths).scale
    if "numbers" in entry:
        paths.append(experiments / "scale" / f"{entry['numbers']}.yaml")
    return read_table(paths), scale


def _untestable(where: str, reasons: Any) -> dict[str, str]:
    """Return why our data cannot decide a claim, by prefix of a scale's name; a single reason is for all scales."""
    by_scale = reasons if isinstance(reasons, dict) else {"": reasons}
    if not all(isinstance(text, str) for text in by_scale.values()):
        raise UserError(f"{where}: untestable: give a reason, or one for each scale; quote a text that has a comma")
    return by_scale


def _pairs(
    where: str, table: Table, *, kind: _Kind, names: Any, margin: float, varies: Sequence[str]
) -> list[tuple[str, str]]:
    """Return pairs of rows by name.

    Raises:
        UserError: the paper's numbers contradict a pair, or its rows differ in more than ``varies`` names.
    """
    if kind == "spread":
        rows = [table.row(str(name)).name for name in names]
        return [(row, row) for row in rows]

    pairs = []
    for pair in names if names and isinstance(names, list) else [names]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise UserError(f"{where}: expected pairs of rows, such as [[tw1, tw0]]")
        first = table.row(str(pair[0]))
        second = table.row(str(pair[1]))

        more = uncovered(row_contrast(first, second), varies)
        if more:
            both = f"{first.name} and {second.name} of {table.name} also differ in {', '.join(more)}"
            raise UserError(f"{where}: {both}; choose rows that differ in one thing, or name it in varies")

        _refuse_contradicted(where, table, (first.name, second.name), kind=kind, margin=margin)
        pairs.append((first.name, second.name))
    return pairs


def _refuse_contradicted(where: str, table: Table, pair: tuple[str, str], *, kind: _Kind, margin: float) -> None:
    """Refuse a pair whose order the paper's accuracies contradict; a figure without numbers contradicts nothing."""
    if kind == "cheaper" or not any(row.paper for row in table.rows):
        return
    for name in pair:
        if name not in table.papers:
            raise UserError(f"{where}: {table.name} has no number of the paper for {name}")

    first, second = (table.papers[name] for name in pair)
    holds = first > second
    if kind == "not_worse":
        holds = first >= second - margin
    if kind == "equal":
        holds = abs(first - second) <= margin

    if not holds:
        numbers = f"the paper has {first} for {pair[0]} and {second} for {pair[1]}"
        raise UserError(f"{where}: {numbers}: it does not claim this ({kind})")
