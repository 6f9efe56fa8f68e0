"""A paper's claims as pairs of rows of its tables, and the verdict of our runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from lit_video.tables.statistics import Interval, holm
from lit_video.tables.summary import TableRuns
from lit_video.tables.table import Table, data_sets
from lit_video.utils.yaml_files import read_yaml

KEYS = {"claim", "table", "numbers", "better", "as_good", "margin", "untestable", "differs"}
Tested = Literal["supported", "supported by construction", "contradicted", "undecided", "too few videos to tell"]
Judgement = Literal[Tested, "not testable here", "not run"]  # in the order of a summary


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and the rows by which it can be judged."""

    text: str
    source: str
    table: Table  # with the paper's numbers of the data set that the claim is about
    pairs: list[tuple[str, str]]  # names of rows, better first
    margin: float | None  # points within which both are equally good; None: the first must be better
    untestable: Mapping[str, str]  # why our data cannot decide it, by prefix of a scale's name
    scale: str  # the table's own scale, by which the claim is judged if the paper's data set was not run
    follow_ups: Mapping[str, str] = field(default_factory=dict)  # further scales, and why they were run
    differs: str = ""  # why scales give different answers

    def paper(self) -> list[tuple[float, float]]:
        """Return the paper's numbers of each pair; empty for a figure that prints no number."""
        papers = self.table.papers
        return [(papers[first], papers[second]) for first, second in self.pairs if papers]

    def about(self, scale: str) -> bool:
        """Return False if the scale's data set is another one that the paper reports numbers on."""
        return self.table.other_data.isdisjoint(data_sets(scale))

    def decides(self, scale: str) -> bool:
        """Return whether runs at a scale are on the claim's own data set."""
        return replace(self.table, scale=scale).on_papers_data

    def why_untestable(self, scale: str) -> str:
        """Return why runs at a scale cannot decide the claim; empty if they can, for example on its own data set."""
        for name, why in self.untestable.items():
            if scale.startswith(name) and not self.decides(scale):
                return why
        return ""


def read_claims(experiments: Path) -> list[Claim]:
    """Read the claims of all files under ``claims/``, beside the tables."""
    claims = []
    for path in sorted((experiments / "claims").glob("*.yaml")):
        content = read_yaml(path)
        for number, given in enumerate(content.get("claims", []), 1):
            claims.append(_read(f"{path}: claim {number}", experiments, content, given))
    return claims


def judge(claim: Claim, runs: TableRuns, scale: str = "") -> tuple[Judgement, list[Interval | None]]:
    """Judge a claim by the runs at a scale.

    ``better`` is supported if every pair's difference is above 0, contradicted if one is below. ``as_good`` is
    supported if every difference is within the margin (an equivalence test), contradicted if one is outside. The
    pairs' p-values are corrected for their number (Holm), at 2.5 % on each side. A difference is ``None`` if a row of
    the pair was not run.
    """
    differences = [runs.row_hits.difference(*pair) for pair in claim.pairs]
    if claim.why_untestable(scale):
        return "not testable here", differences
    measured = list(filter(None, differences))
    if len(measured) < len(differences):
        return "not run", differences
    if claim.margin is None:
        worse = {second for _, second in claim.pairs}
        return _better(measured, than_blind=worse <= runs.blind), differences
    return _within(measured, claim.margin), differences


def _better(differences: Sequence[Interval], than_blind: bool) -> Judgement:
    if any(holm([each.below(0) for each in differences])):
        return "contradicted"
    if all(holm([each.above(0) for each in differences])):
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
    paths = [experiments / f"{given['table']}.yaml"]
    scale = read_table(paths).scale
    if "numbers" in given:
        paths.append(experiments / "scale" / f"{given['numbers']}.yaml")
    table = read_table(paths)
    margin = given.get("margin")
    pairs = _pairs(where, table, given.get("better") or given.get("as_good"), margin)
    untestable = given.get("untestable") or {}
    if not isinstance(untestable, dict):
        untestable = {"": untestable}
    if not all(isinstance(text, str) for text in untestable.values()):
        raise UserError(f"{where}: untestable: give a reason, or one for each scale; quote a text that has a comma")
    text, source, follow_ups = str(given["claim"]), str(content.get("source", "")), content.get("follow_ups", {})
    return Claim(text, source, table, pairs, margin, untestable, scale, follow_ups, str(given.get("differs", "")))


def _pairs(where: str, table: Table, given: Any, margin: float | None) -> list[tuple[str, str]]:
    """Return pairs of rows by name; refuse those that the paper's numbers contradict."""
    pairs = []
    for pair in given if given and isinstance(given, list) else [given]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise UserError(f"{where}: expected pairs of rows, such as [[tw1, tw0]]")
        first, second = (table.row(str(name)).name for name in pair)
        pairs.append((first, second))
        if not any(row.paper for row in table.rows):
            continue  # a figure has no numbers
        for name in (first, second):
            if name not in table.papers:
                raise UserError(f"{where}: {table.name} has no number of the paper for {name}")
        a, b = table.papers[first], table.papers[second]
        contradicted = a <= b
        if margin is not None:
            contradicted = abs(a - b) > margin
        if contradicted:
            raise UserError(f"{where}: the paper has {a} for {first} and {b} for {second}: it does not claim this")
    return pairs
