"""A paper's claims as pairs of rows of its tables, and the verdict of our runs."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from lit_video.tables.statistics import Hits, Interval, holm, paired_difference
from lit_video.tables.summary import papers_own
from lit_video.tables.table import Table, data_sets
from lit_video.utils.yaml_files import read_yaml

KEYS = {"claim", "table", "numbers", "better", "as_good", "margin", "untestable", "differs"}
Judgement = Literal[  # in the order of a summary
    "supported",
    "supported by construction",
    "contradicted",
    "undecided",
    "too few videos to tell",
    "not testable here",
    "not run",
]


@dataclass(frozen=True)
class Measured:
    """A table's runs at a scale."""

    hits: Mapping[str, Hits]  # by row, see agreement.comparable
    blind: Set[str] = frozenset()  # rows that ignore the order of frames, whose accuracy this data set caps


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and the rows by which it can be judged."""

    text: str
    source: str
    table: Table  # with the paper's numbers of the data set that the claim is about
    pairs: list[tuple[str, str]]  # names of rows, better first
    margin: float | None  # points within which both are equally good; None: the first must be better
    untestable: Mapping[str, str]  # why our data cannot decide it, by prefix of a scale's name
    scale: str  # the table's scale; it decides if the paper's data set was not run
    follow_ups: Mapping[str, str] = field(default_factory=dict)  # further scales, and why they were run
    differs: str = ""  # why scales answer it differently

    def paper(self) -> list[tuple[float, float]]:
        """Return the paper's numbers of each pair; empty for a figure that prints no number."""
        rows = [(self.table.row(first), self.table.row(second)) for first, second in self.pairs]
        return [(a.paper[self.table.metric], b.paper[self.table.metric]) for a, b in rows if a.paper and b.paper]

    def about(self, scale: str) -> bool:
        """Return False for runs on another of the data sets that the paper reports on."""
        named = [key for row in self.table.rows for key in row.paper if papers_own(key)]
        return not data_sets(scale) & {key.split()[0].lower() for key in named}

    def decides(self, scale: str) -> bool:
        """Return whether runs at a scale are on the claim's own data set."""
        return bool(self.table.data_set) and self.table.data_set in data_sets(scale)

    def why_untestable(self, scale: str) -> str | None:
        """Return why runs at a scale cannot decide the claim; ``None`` if they can, like on its own data set."""
        if self.decides(scale):
            return None
        return next((why for name, why in self.untestable.items() if scale.startswith(name)), None)


def read_claims(experiments: Path) -> list[Claim]:
    """Read the claims of all files under ``claims/``, beside the tables."""
    claims = []
    for path in sorted((experiments / "claims").glob("*.yaml")):
        content = read_yaml(path)
        for number, given in enumerate(content.get("claims", []), 1):
            where = f"{path}: claim {number}"
            claim = _read(where, experiments, content, given)
            _holds_in_the_paper(where, claim)
            claims.append(claim)
    return claims


def judge(claim: Claim, runs: Measured, scale: str = "") -> tuple[Judgement, list[Interval | None]]:
    """Judge a claim by the runs at a scale.

    ``better`` is supported if every pair's difference is above 0, contradicted if one is below. ``as_good`` is
    supported if every difference is within the margin (an equivalence test), contradicted if one is outside. The
    pairs' p-values are corrected for their number (Holm), at 2.5 % on each side.

    Returns:
        The verdict, and the difference of each pair, ``None`` for pairs that were not run.
    """
    hits = runs.hits
    differences = [
        paired_difference(hits[first], hits[second]) if first in hits and second in hits else None
        for first, second in claim.pairs
    ]
    if claim.why_untestable(scale):
        return "not testable here", differences
    measured = [difference for difference in differences if difference]
    if len(measured) < len(differences):
        return "not run", differences
    if claim.margin is None:
        return _better(measured, all(second in runs.blind for _, second in claim.pairs)), differences
    return _within(measured, claim.margin), differences


def _better(differences: Sequence[Interval], than_blind: bool) -> Judgement:
    if any(holm([difference.below(0) for difference in differences])):
        return "contradicted"
    if all(holm([difference.above(0) for difference in differences])):
        return "supported by construction" if than_blind else "supported"
    return "undecided"


def _within(differences: Sequence[Interval], margin: float) -> Judgement:
    if all(holm([max(each.above(-margin), each.below(margin)) for each in differences])):
        return "supported"
    if any(holm([min(each.above(margin), each.below(-margin)) for each in differences])):
        return "contradicted"
    return "too few videos to tell" if any(each.high - each.low > 2 * margin for each in differences) else "undecided"


def _read(where: str, experiments: Path, content: Mapping[str, Any], given: Any) -> Claim:
    if not isinstance(given, dict) or not {"claim", "table"} <= given.keys() <= KEYS:
        raise UserError(f"{where}: expected claim, table, and perhaps {', '.join(sorted(KEYS - {'claim', 'table'}))}")
    if ("better" in given) == ("as_good" in given) or ("margin" in given) != ("as_good" in given):
        raise UserError(f"{where}: expected better, or as_good with margin")
    path = experiments / f"{given['table']}.yaml"
    numbers = [experiments / "scale" / f"{given['numbers']}.yaml"] if "numbers" in given else []
    table = read_table([path, *numbers])
    pairs = _pairs(where, table, given.get("better") or given.get("as_good"))
    why = given.get("untestable") or {}
    untestable = why if isinstance(why, dict) else {"": why}
    if not all(isinstance(text, str) for text in untestable.values()):
        raise UserError(f"{where}: untestable: give a reason, or one for each scale; quote a text that has a comma")
    text, source, scale = str(given["claim"]), str(content.get("source", "")), read_table([path]).scale
    why = content.get("follow_ups", {}), str(given.get("differs", ""))
    return Claim(text, source, table, pairs, given.get("margin"), untestable, scale, *why)


def _pairs(where: str, table: Table, given: Any) -> list[tuple[str, str]]:
    if not isinstance(given, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in given):
        raise UserError(f"{where}: expected pairs of rows, such as [[tw1, tw0]]")
    printed = any(row.paper for row in table.rows)
    for name in [name for pair in given for name in pair]:
        if table.metric not in table.row(str(name)).paper and printed:
            raise UserError(f"{where}: {table.name} has no number of the paper for {name}")
    return [(str(first), str(second)) for first, second in given]


def _holds_in_the_paper(where: str, claim: Claim) -> None:
    for (first, second), (a, b) in zip(claim.pairs, claim.paper(), strict=False):  # a figure has no numbers
        if a <= b if claim.margin is None else abs(a - b) > claim.margin:
            raise UserError(f"{where}: the paper has {a} for {first} and {b} for {second}: it does not claim this")
