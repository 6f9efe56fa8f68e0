"""Verdicts of our runs on the papers' claims, grouped by paper, and written as Markdown."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, starmap
from typing import Any, TypeVar, get_args

from lit_video.tables.claims import Claim, read_claims
from lit_video.tables.judging import Judged, Judgement, judge, rows_of
from lit_video.tables.reading import read_table
from lit_video.tables.row_hits import RowHits
from lit_video.tables.statistics import LEVEL, Interval, holm_adjusted
from lit_video.tables.summary import TableRuns
from lit_video.tables.table import Table
from lit_video.utils.text import markdown_lines, natural, plural

Runs = TypeVar("Runs", bound=TableRuns)
HEADER = ["claim", "rows", "paper", "ours", "verdict"]
OTHERS = "Other tables"  # heading of tables without a paper
PAPER = re.compile(r".*?arXiv:[\d.]+")
NUMBER = re.compile(r"(?:Table|Fig\.|section) [\d.]+\w?")
NOT_RECORDED = "\N{DAGGER}"  # marks a verdict whose rows' accuracy on training videos was not recorded


@dataclass(frozen=True)
class Verdict:
    """A claim judged by the runs at one scale."""

    claim: Claim
    scale: str
    judged: Judged
    seeds: int  # smallest number of seeds among the claim's rows
    runs: frozenset[int] = frozenset()  # keys of the runs that it rests on
    follow_ups: Sequence["Verdict"] = ()  # verdicts at other scales
    survives: bool | None = None  # whether it holds after a correction for all claims; None if it needs none

    @property
    def judgement(self) -> Judgement:
        """The judgement without marks."""
        return self.judged.judgement

    @property
    def differences(self) -> Sequence[Interval | None]:
        """Differences by tested pair."""
        return self.judged.differences

    @property
    def tested(self) -> bool:
        """True if all rows were run and can decide the claim."""
        return self.judged.tested

    @property
    def words(self) -> str:
        """The judgement, with what is too few; marked if it rests on one seed."""
        words = str(self.judgement)
        if words == "too few to tell":
            words = f"too few {self.judged.few.partition(' ')[0]} to tell"
        return f"{words} in one seed" if self.tested and self.seeds == 1 else words

    @property
    def text(self) -> str:
        """The judgement in words, with the reason if there is no verdict, and its marks."""
        text = f"{self.words}: {self.judged.why}" if self.judged.why else self.words
        if self.tested and self.judged.learned is None:
            text += f" {NOT_RECORDED}"
        return f"{text}, but not after correction for all claims" if self.survives is False else text

    @property
    def power(self) -> str:
        """The smallest difference in points that is shown with 80 % power, and what limits it; empty if untested."""
        shown = self.judged.detectable
        if not self.tested or not shown or math.isinf(shown):
            return ""
        limit = f"; {self.judged.few}" if self.judged.few else ""
        return f" (80 % power {shown:.1f}{limit})"

    @property
    def link(self) -> str:
        """The claim in Markdown, linked to its table if one was run."""
        if not self.runs:
            return self.claim.text
        return link_to(self.claim.table.name, self.scale, self.claim.text)


def judged(claims: Sequence[Claim], tables: Sequence[TableRuns]) -> list[Verdict]:
    """Return each claim's verdict by the runs of ``tables``, with verdicts at further scales as follow-ups.

    Verdicts that do not hold after a correction for the number of claims are marked, see :func:`corrected`.
    """
    found = []
    for claim in claims:
        of_table = {read.table.scale: read for read in tables if read.table.name == claim.table.name}
        scales = list(filter(claim.about, of_table))
        main = claim.deciding(scales)
        first, *others = [_verdict(claim, of_table, scale) for scale in dict.fromkeys([main, *scales])]
        # a follow-up may have run only rows of other claims
        follow_ups = [one for one in others if one.runs and (one.judgement != "not run" or one.judged.why)]
        found.append(replace(first, follow_ups=follow_ups))
    return corrected(found)


def corrected(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Mark which verdicts hold after a correction for the number of tested ones.

    Holm's procedure over the claims' own p-values, at 2.5 % on each side. Claims share runs, so their tests depend on
    each other; Holm's procedure holds for any dependence.
    """
    tested = [one for one in verdicts if one.tested]
    adjusted = iter(holm_adjusted([one.judged.chance for one in tested]))
    marked = []
    for one in verdicts:
        chance = next(adjusted) if one.tested else 1.0
        marked.append(replace(one, survives=chance <= LEVEL if _decided(one) else None))
    return marked


def _decided(one: Verdict) -> bool:
    return one.judgement.startswith(("supported", "contradicted"))


def across(main: Verdict) -> str:
    """Say which scales answer a claim differently and why, or that three data sets or more answer it alike."""
    tested = [one for one in (main, *main.follow_ups) if one.seeds > 1 and one.tested]
    apart = [f"{one.scale} and {other.scale}" for one, other in combinations(tested, 2) if _apart(one, other)]
    if apart:
        return f"; {', '.join(apart)} differ: {main.claim.differs or 'no explanation yet'}"
    scales = [one.scale for one in tested if _decided(one)]
    data = {scale.partition("_")[0] for scale in scales}  # embedded_longer has the data of embedded
    return f"; alike at {', '.join(scales)}" if len(data) > 2 else ""


def _apart(one: Verdict, other: Verdict) -> bool:
    pairs = zip(one.differences, other.differences, strict=True)
    opposite = any(a and b and a.sign * b.sign < 0 for a, b in pairs)
    return opposite or {one.judgement.split()[0], other.judgement.split()[0]} == {"supported", "contradicted"}


def _verdict(claim: Claim, of_table: Mapping[str, TableRuns], scale: str) -> Verdict:
    runs = of_table.get(scale, TableRuns(claim.table, {}, {}, RowHits()))
    rows = [row for row in rows_of(claim) if row in runs.hits]
    seeds = min((len(runs.hits[row]) for row in rows), default=0)
    keys = frozenset(hash(hits.tobytes()) for row in rows for hits in runs.hits[row])
    return Verdict(claim, scale, judge(claim, runs, scale), seeds, keys)


def sharing(verdicts: Sequence[Verdict]) -> list[tuple[int, list[int]]]:
    """Return the claims, numbered from 1, whose verdicts rest on a run of other claims, with those of a larger number.

    Equal predictions count as one run: ``--reuse`` takes one training for equal rows of several tables.
    """
    numbered = [(number, one) for number, one in enumerate(verdicts, 1) if one.tested]
    found = []
    for number, one in numbered:
        others = [other for other, each in numbered if other > number and one.runs & each.runs]
        if others:
            found.append((number, others))
    return found


def by_paper(tables: Iterable[Runs], claims: Sequence[Claim]) -> dict[str, dict[str, list[Runs]]]:
    """Group runs by paper, then by table in the paper's order; runs on the paper's data precede runs on other data.

    Papers with claims come first, in the order of the claims; tables without a paper come last, as :data:`OTHERS`.
    """
    first = [claim.source for claim in claims]
    papers: dict[str, dict[str, list[Runs]]] = {}
    for read in sorted(tables, key=lambda read: _order(read.table, first)):
        papers.setdefault(paper_of(read.table), {}).setdefault(read.table.name, []).append(read)
    return papers


def paper_of(table: Table) -> str:
    """Return the name and arXiv number of the paper that printed a table, or :data:`OTHERS`."""
    return next(iter(PAPER.findall(table.source)), OTHERS)


def number_of(table: Table) -> str:
    """Return the number of a table in its paper, such as ``Table 2a``; empty if it has none."""
    return next(iter(NUMBER.findall(table.source)), "")


def _order(table: Table, papers: Sequence[str]) -> tuple[Any, ...]:
    paper, number = paper_of(table), number_of(table)
    known = [*papers, paper].index(paper)
    kind = ("Table", "Fig.", "section", "").index(number.partition(" ")[0])
    of_table = known, paper, kind, natural(number), table.name
    other_scale = table.scale != read_table([table.path]).scale
    return paper == OTHERS, *of_table, not table.on_papers_data, other_scale, table.scale


def counted(verdicts: Sequence[Verdict]) -> str:
    """Return the number of each verdict in words, and how many hold after a correction for their number."""
    order = get_args(Judgement)
    marked = sorted(corrected(verdicts), key=lambda one: (order.index(one.judgement), one.seeds == 1))
    counts = Counter(one.words for one in marked)
    surviving = Counter(one.words for one in marked if one.survives)
    parts = []
    for words, number in counts.items():
        of_all = f" ({surviving[words]} after correction)" if words.startswith(("supported", "contradicted")) else ""
        parts.append(f"{words} {number}{of_all}")
    return ", ".join(parts)


def opening(verdicts: Sequence[Verdict]) -> str:
    """Say how many claims were judged, and by what kind of runs."""
    said = f"{plural(len(verdicts), 'claim')} of the papers"
    if any(one.claim.decides(one.scale) for one in verdicts):
        return said
    return f"{said}, tried by small models on other data than theirs"


def tally(verdicts: Sequence[Verdict]) -> str:
    """Say how many claims have each verdict."""
    if not verdicts:
        return "No claims of papers."
    return f"{opening(verdicts)}: {counted(verdicts)}."


def of_table(read: TableRuns) -> list[str]:
    """Return the tally and a line for each claim about a table, judged by its runs at their scale."""
    verdicts = []
    for main in judged(read_claims(read.table.path.parent), [read]):
        for one in (main, *main.follow_ups):
            if one.scale == read.table.scale and (any(one.differences) or one.tested):
                verdicts.append(one)
    verdicts = corrected(verdicts)
    lines = [f"- {one.text}{one.power}: {one.claim.text} ({_pairs(one.claim)}: {_ours(one)})" for one in verdicts]
    return [tally(verdicts), *lines] if verdicts else []


def verdict_list(found: Sequence[Verdict], page: str, first: int = 1) -> str:
    """Return a short table in Markdown: a line per claim, linked to its table on a page, with its follow-ups.

    Claims are numbered from ``first``.
    """
    body = []
    for number, main in enumerate(found, first):
        more = "; ".join(f"{one.scale}: {_shortly(one, main)}{one.power}" for one in main.follow_ups)
        verdict = main.text + main.power + across(main)
        body.append([str(number), main.link.replace("](#", f"]({page}#"), verdict, more])
    return markdown_lines(["", "claim", "verdict", "follow-ups"], body, numbers=False)


def _shortly(one: Verdict, main: Verdict) -> str:
    """Return a follow-up's verdict, without a reason that its main verdict gives."""
    return one.words if one.judged.why and one.judged.why == main.judged.why else one.text


def verdict_lines(found: Sequence[Verdict]) -> str:
    """Return a table in Markdown: a line per claim, linked to its table, and its follow-ups below it."""
    if not found:
        return ""
    body = []
    for main in found:
        body.append([f"{main.link} ({main.claim.section})", *_cells(main)])
        for one in main.follow_ups:
            why = one.claim.follow_ups.get(one.scale, "")
            body.append([f"follow-up: {why}".removesuffix(": "), *_cells(one)])
    return markdown_lines(HEADER, body, numbers=False)


def _cells(one: Verdict) -> list[str]:
    papers = "; ".join(starmap("{:.1f} - {:.1f}".format, one.claim.paper())) or "no numbers printed"
    rows, ours = f"{one.claim.table.name}: {_pairs(one.claim)}", _ours(one)
    return [rows, papers, f"{one.scale}: {ours}" if ours else "", one.text]


def _pairs(claim: Claim) -> str:
    """Return the pairs of a claim, what they vary, and what is tested of their difference."""
    if claim.kind == "spread":
        rows = ", ".join(row for row, _ in claim.pairs)
        return f"{rows}; standard deviation over seeds at most {plural(claim.margin, 'point')}"
    pairs = "; ".join(map(" - ".join, claim.tested_pairs))
    varied = f"{pairs} (by {', '.join(claim.varies)})"
    if claim.kind == "better":
        return varied
    how = "within" if claim.kind == "equal" else "not worse by more than"
    return f"{varied}; {how} {plural(claim.margin, 'point')}"


def _ours(one: Verdict) -> str:
    return "; ".join(map(str, filter(None, one.differences)))


def link_to(table: str, scale: str, text: str = "") -> str:
    """Return a link to the heading ``TABLE (SCALE)``, by the anchor that GitHub gives it."""
    heading = f"{table} ({scale})"
    anchor = re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))
    return f"[{text or heading}](#{anchor})"
