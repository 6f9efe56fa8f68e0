"""Verdicts of our runs on the papers' claims, grouped by paper, and written as Markdown."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args

from lit_video.tables.claims import Claim, read_claims
from lit_video.tables.judging import Decided, Judged, Judgement, judge, judge_costs, rows_of
from lit_video.tables.reading import read_table
from lit_video.tables.row_hits import RowHits
from lit_video.tables.statistics import LEVEL, holm_adjusted
from lit_video.tables.summary import OTHER, TableRuns
from lit_video.tables.table import Table
from lit_video.utils.text import natural, plural

Runs = TypeVar("Runs", bound=TableRuns)
OTHER_TABLES = "Other tables"  # heading of tables without a paper
PAPER = re.compile(r".*?arXiv:[\d.]+")
TABLE_NUMBER = re.compile(r"(?:Table|Fig\.|section) [\d.]+\w?")
NOT_RECORDED = "\N{DAGGER}"  # marks a verdict whose rows' accuracy on training videos was not recorded


@dataclass(frozen=True)
class Verdict:
    """A claim judged by the runs at one scale."""

    claim: Claim
    scale: str
    judged: Judged
    runs: frozenset[int] = frozenset()  # keys of the runs that it rests on
    follow_ups: Sequence["Verdict"] = ()  # verdicts at other scales
    survives: bool | None = None  # whether it holds after a correction for all claims; None if it needs none

    @property
    def text(self) -> str:
        """The judgement in words, with the reason if there is no verdict, and its marks."""
        judged = self.judged
        text = f"{judged.words}: {judged.why}" if judged.why else judged.words
        if judged.tested and len({pair.words for pair in judged.pairs}) > 1:
            by_pair = (f"{' - '.join(pair.rows)} {pair.words or 'by construction'}" for pair in judged.pairs)
            text += f" ({'; '.join(by_pair)})"
        if judged.tested and not judged.recorded:
            text += f" {NOT_RECORDED}"
        if self.survives is False:
            text += ", but not after correction for all claims"
        return text

    @property
    def power(self) -> str:
        """The smallest difference in points that is shown with 80 % power, and what limits it; empty if untested."""
        judged = self.judged
        if not judged.tested or not judged.detectable or math.isinf(judged.detectable):
            return ""
        limit = f"; {judged.few} {100 * judged.few_share:.0f} %" if judged.few else ""
        return f" (80 % power {judged.detectable:.1f}{limit})"


# multiply-adds of a view, 10^9, of rows, by table and scale
CountedCosts = Mapping[tuple[str, str], Mapping[str, float]]


def judge_claims(
    claims: Sequence[Claim], tables: Sequence[TableRuns], costs: CountedCosts | None = None
) -> list[Verdict]:
    """Return each claim's verdict by the runs of ``tables``, with verdicts at further scales as follow-ups.

    Claims about costs are judged by counted ``costs``. Verdicts that do not hold after a correction for the number of
    claims are marked, see :func:`corrected`.
    """
    verdicts = []
    for claim in claims:
        if claim.kind == "cheaper":
            counted = {scale: gmacs for (table, scale), gmacs in (costs or {}).items() if table == claim.table.name}
            scale = claim.deciding(list(filter(claim.about, counted)))
            verdicts.append(Verdict(claim, scale, judge_costs(claim, scale, counted.get(scale, {}))))
            continue

        by_scale = {read.table.scale: read for read in tables if read.table.name == claim.table.name}
        scales = [scale for scale in by_scale if claim.about(scale) and not scale.endswith(OTHER)]
        deciding = claim.deciding(scales)
        others = [_verdict(claim, by_scale, scale) for scale in scales if scale != deciding]
        # a scale may have runs of other claims' rows only
        has_runs = [
            other for other in others if other.runs and (other.judged.judgement != "not run" or other.judged.why)
        ]
        verdicts.append(replace(_verdict(claim, by_scale, deciding), follow_ups=has_runs))

    # two families of hypotheses: the claims where they are decided, and all follow-ups
    in_follow_ups = iter(corrected([follow_up for verdict in verdicts for follow_up in verdict.follow_ups]))
    marked = [replace(verdict, follow_ups=[next(in_follow_ups) for _ in verdict.follow_ups]) for verdict in verdicts]
    return corrected(marked)


def corrected(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Mark which verdicts hold after Holm's correction for the number of tested claims, at 2.5 % on each side.

    Claims share runs, so their tests depend on each other; Holm's procedure allows any dependence.
    """
    tested = [verdict.judged for verdict in verdicts if verdict.judged.tested]
    adjusted = iter(holm_adjusted([judged.chance for judged in tested]))

    marked = []
    for verdict in verdicts:
        chance = next(adjusted) if verdict.judged.tested else 1.0
        is_decided = verdict.judged.judgement in get_args(Decided)
        marked.append(replace(verdict, survives=chance <= LEVEL if is_decided else None))
    return marked


def _verdict(claim: Claim, by_scale: Mapping[str, TableRuns], scale: str) -> Verdict:
    """Judge a claim by the runs at a scale, if there are any."""
    runs = by_scale.get(scale, TableRuns(replace(claim.table, scale=scale), {}, {}, RowHits(), {}))
    rows = [row for row in rows_of(claim) if row in runs.row_hits.hits]
    return Verdict(
        claim,
        scale,
        judge(claim, runs),
        runs=frozenset(hash(hits.tobytes()) for row in rows for hits in runs.row_hits.hits[row]),
    )


def by_paper(tables: Iterable[Runs], claims: Sequence[Claim]) -> dict[str, dict[str, list[Runs]]]:
    """Group runs by paper, then by table in the paper's order; runs on the paper's data precede runs on other data.

    Papers with claims come first, in the order of the claims; tables without a paper come last, as
    :data:`OTHER_TABLES`.
    """
    with_claims = [claim.source for claim in claims]
    ordered = sorted(tables, key=lambda read: _order(read.table, with_claims))

    papers: dict[str, dict[str, list[Runs]]] = {}
    for read in ordered:
        of_paper = papers.setdefault(paper_of(read.table), {})
        of_paper.setdefault(read.table.name, []).append(read)
    return papers


def paper_of(table: Table) -> str:
    """Return the name and arXiv number of the paper that printed a table, or :data:`OTHER_TABLES`."""
    return next(iter(PAPER.findall(table.source)), OTHER_TABLES)


def number_of(table: Table) -> str:
    """Return the number of a table in its paper, such as ``Table 2a``; empty if it has none."""
    return next(iter(TABLE_NUMBER.findall(table.source)), "")


def _order(table: Table, with_claims: Sequence[str]) -> tuple[Any, ...]:
    """Return the key by which tables are sorted: paper, number in the paper, name, data, scale."""
    paper = paper_of(table)
    rank = [*with_claims, paper].index(paper)

    number = number_of(table)
    kind = ("Table", "Fig.", "section", "").index(number.partition(" ")[0])
    by_number = (kind, natural(number), table.name)

    is_other_scale = table.scale != read_table([table.path]).scale
    by_scale = (not table.on_papers_data, is_other_scale, table.scale)
    return (paper == OTHER_TABLES, rank, paper, by_number, by_scale)


def verdict_counts(verdicts: Sequence[Verdict]) -> str:
    """Return the number of each verdict in words, and how many hold after a correction for their number."""
    order = get_args(Judgement)
    marked = sorted(corrected(verdicts), key=lambda verdict: order.index(verdict.judged.judgement))
    counts = Counter(map(_counted, marked))
    surviving = Counter(_counted(verdict) for verdict in marked if verdict.survives)

    parts = []
    for words, number in counts.items():
        part = f"{words} {number}"
        if words.startswith(("supported", "contradicted", "differ")):
            part += f" ({surviving[words]} after correction)"
        parts.append(part)
    return ", ".join(parts)


def _counted(verdict: Verdict) -> str:
    """Return the words by which a verdict is counted, the same for any number of points."""
    return "differ by at most N points" if verdict.judged.judgement == "differ by at most" else verdict.judged.words


def opening(verdicts: Sequence[Verdict]) -> str:
    """Say how many claims were judged, and by what kind of runs."""
    number = f"{plural(len(verdicts), 'claim')} of the papers"
    run = [verdict for verdict in verdicts if verdict.claim.kind != "cheaper"]
    if not run or any(verdict.claim.decides(verdict.scale) for verdict in run):
        return number
    return f"{number}, tried by small models on other data than theirs"


def tally(verdicts: Sequence[Verdict]) -> str:
    """Say how many claims have each verdict."""
    if not verdicts:
        return "No claims of papers."
    return f"{opening(verdicts)}: {verdict_counts(verdicts)}."


def of_table(read: TableRuns) -> list[str]:
    """Return the tally and a line for each claim about a table, judged by its runs at their scale."""
    verdicts = []
    for main in judge_claims(read_claims(read.table.path.parent), [read]):
        for verdict in (main, *main.follow_ups):
            if verdict.scale == read.table.scale and (differences_in_words(verdict) or verdict.judged.tested):
                verdicts.append(verdict)
    return _lines(corrected(verdicts))


def of_costs(table: Table, gmacs: Mapping[str, float]) -> list[str]:
    """Return the tally and a line for each claim about the costs of a table's rows, by their counted multiply-adds."""
    claims = [
        claim
        for claim in read_claims(table.path.parent)
        if claim.kind == "cheaper" and claim.table.name == table.name and claim.decides(table.scale)
    ]
    judged = judge_claims(claims, [], {(table.name, table.scale): gmacs})
    return _lines([verdict for verdict in judged if verdict.judged.tested])


def _lines(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the tally and a line for each verdict; nothing for none."""
    lines = [tally(verdicts)] if verdicts else []
    for verdict in verdicts:
        rows = f"{pairs_in_words(verdict.claim)}: {differences_in_words(verdict)}"
        lines.append(f"- {verdict.text}{verdict.power}: {verdict.claim.text} ({rows})")
    return lines


def pairs_in_words(claim: Claim) -> str:
    """Return the pairs of a claim, what they vary, and what is tested about their difference."""
    if claim.kind == "spread":
        rows = ", ".join(row for row, _ in claim.pairs)
        return f"{rows}; standard deviation over seeds at most {plural(claim.margin, 'point')}"
    pairs = "; ".join(map(" - ".join, claim.pairs))
    against = f", and above the control {claim.control}" if claim.control else ""
    varied = f"{pairs} (by {', '.join(claim.varies)}){against}"
    if claim.kind == "better":
        return varied
    if claim.kind == "cheaper":
        return f"{varied}; fewer multiply-adds"
    how = "within" if claim.kind == "equal" else "not worse by more than"
    return f"{varied}; {how} {plural(claim.margin, 'point')}"


def differences_in_words(verdict: Verdict) -> str:
    """Return our differences by pair, with their intervals."""
    texts = []
    for pair in verdict.judged.pairs:
        of_claim = pair.rows in verdict.claim.pairs
        if pair.text:
            texts.append(pair.text if of_claim else f"over {pair.second} {pair.text}")
    return "; ".join(texts)
