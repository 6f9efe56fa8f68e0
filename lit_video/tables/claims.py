"""Claims of a paper, as pairs of rows of its tables; :mod:`~lit_video.tables.judging` judges them by our runs."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec

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
_WITH_MARGIN = ("not_worse", "equal", "spread")
_Pairs = Annotated[list[tuple[str, str]], msgspec.Meta(min_length=1)]
LEAST_ALIKE = 2.0  # points; a smaller difference would take too many seeds
MOST_ALIKE = 5.0
# words of a claim that attention between frames helps; such a claim needs a control row without it
IN_TIME = re.compile("attention in time|temporal attention|transformer over time|layer of the temporal encoder")


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim as its file has it; it names its rows by one of the kinds."""

    claim: str
    section: str | float
    table: str
    numbers: str = ""  # file of the scale with the paper's numbers, if they are not the table's own
    varies: str | list[str] = []
    control: str = ""
    margin: Annotated[float, msgspec.Meta(ge=0)] | None = None
    untestable: str | dict[str, str] = {}
    differs: str = ""
    better: _Pairs | None = None
    not_worse: _Pairs | None = None
    equal: _Pairs | None = None
    spread: Annotated[list[str], msgspec.Meta(min_length=1)] | None = None
    cheaper: _Pairs | None = None


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, in our words, and the rows by which it can be judged."""

    text: str
    source: str
    section: str  # where the paper says it
    table: Table  # has the paper's numbers of the data set that the claim is about
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
        if not self.table.settings:
            return ""
        table = table_at(self.table.path, scale)
        return self.why_not_compared(lambda *pair: planned_contrast(table, *map(table.row, pair)))

    def why_not_compared(self, contrast: Callable[[str, str], Sequence[str] | None]) -> str:
        """Say so if the rows of a pair differ in more than the claim names, or in nothing; empty if they do not.

        ``contrast`` returns the settings in which two rows differ, by their names; ``None`` for rows that are equal.
        """
        for first, second in self.pairs if self.kind != "spread" else ():
            apart = contrast(first, second)
            if apart is None:
                return f"{first} and {second} differ in nothing here"
            if more := uncovered(apart, self.varies):
                return f"{first} and {second} also differ in {', '.join(more)}"
        return ""


def read_claims(experiments: Path) -> list[Claim]:
    """Read the claims of all files under ``claims/``, beside the tables.

    Raises:
        UserError: a claim has a wrong form, is not the paper's by its numbers, or compares rows that differ in more
            than it names.
    """
    claims = []
    for path in sorted((experiments / "claims").glob("*.yaml")):
        content = read_yaml(path)
        for number, entry in enumerate(content.get("claims", []), 1):
            try:
                claims.append(_read(entry, content, experiments))
            except ValueError as error:
                raise UserError(f"{path}: claim {number}: {error}") from None
    return claims


def _read(content: Any, of_file: Mapping[str, Any], experiments: Path) -> Claim:
    """Read a claim from its entry in a file; raise ``ValueError`` if the entry is wrong."""
    try:
        entry = msgspec.convert(content, _Entry)
    except msgspec.ValidationError as error:
        expected = "expected claim, section, table, and pairs of rows such as better: [[tw1, tw0]]"
        raise ValueError(f"{error}; {expected}; quote a text that has a comma") from None

    kinds = [kind for kind in get_args(_Kind) if getattr(entry, kind)]
    if len(kinds) != 1:
        raise ValueError(f"has {' and '.join(kinds) or 'no kind'}; give one of {', '.join(get_args(_Kind))}")
    (kind,) = kinds
    if (kind in _WITH_MARGIN) != (entry.margin is not None) or (kind == "spread" and not entry.margin):
        raise ValueError(f"margin: {', '.join(_WITH_MARGIN)} need one in points, spread above 0; others take none")
    if bool(entry.varies) == (kind == "spread"):
        raise ValueError("varies: name the settings in which the rows of a pair differ, such as model.window")

    paths = [experiments / f"{entry.table}.yaml"]
    scale = read_table(paths).scale
    if entry.numbers:
        paths.append(experiments / "scale" / f"{entry.numbers}.yaml")
    table = read_table(paths)
    rows = getattr(entry, kind)
    pairs = [(row, row) for row in rows] if kind == "spread" else rows

    claim = Claim(
        text=entry.claim,
        source=str(of_file.get("source", "")),
        section=str(entry.section),
        table=table,
        kind=kind,
        pairs=[(table.row(first).name, table.row(second).name) for first, second in pairs],
        margin=entry.margin or 0.0,
        varies=[entry.varies] if isinstance(entry.varies, str) else entry.varies,
        control=entry.control,
        untestable={"": entry.untestable} if isinstance(entry.untestable, str) else entry.untestable,
        scale=scale,
        follow_ups=of_file.get("follow_ups", {}),
        differs=entry.differs,
    )
    _check(claim)
    return claim


def _check(claim: Claim) -> None:
    """Raise ``ValueError`` if a claim has no control where it needs one, is not the paper's, or compares too much."""
    table = claim.table
    compared = {second for _, second in claim.pairs} == {claim.control}
    if claim.control and not compared and not table.row(claim.control).is_control:
        raise ValueError(f"control: {table.name} has no `control: true` at the row {claim.control}")
    if claim.kind == "better" and not claim.control and IN_TIME.search(claim.text):
        raise ValueError("claims that attention in time is worth something: name its control row (control)")

    if why := claim.why_not_compared(lambda *pair: row_contrast(*map(table.row, pair))):
        raise ValueError(f"{why}; choose rows that differ in one thing, or name it in varies")
    if claim.kind in ("spread", "cheaper") or not any(row.paper for row in table.rows):
        return

    low, high = claim.bounds
    for pair in claim.pairs:
        for name in pair:
            if name not in table.papers:
                raise ValueError(f"{table.name} has no number of the paper for {name}")
        first, second = (table.papers[name] for name in pair)
        difference = round(first - second, 6)
        if not low <= difference <= high or (claim.kind == "better" and not difference):
            numbers = f"the paper has {first} for {pair[0]} and {second} for {pair[1]}"
            raise ValueError(f"{numbers}: it does not claim this ({claim.kind})")
