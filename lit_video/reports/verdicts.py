"""Verdicts of our runs on the papers' claims, grouped by paper, and written as Markdown."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, starmap
from typing import Any, TypeVar, get_args

from lit_video.tables.claims import Claim, Judgement, Tested, judge, read_claims
from lit_video.tables.reading import read_table
from lit_video.tables.row_hits import RowHits
from lit_video.tables.statistics import Interval
from lit_video.tables.summary import TableRuns
from lit_video.tables.table import Table
from lit_video.utils.text import markdown_lines, natural, plural

Runs = TypeVar("Runs", bound=TableRuns)
HEADER = ["claim", "rows", "paper", "ours", "verdict"]
OTHERS = "Other tables"  # heading of tables without a paper
PAPER = re.compile(r".*?arXiv:[\d.]+")
NUMBER = re.compile(r"(?:Table|Fig\.|section) [\d.]+\w?")


@dataclass(frozen=True)
class Verdict:
    """A claim judged by the runs at one scale."""

    claim: Claim
    scale: str
    judgement: Judgement
    differences: Sequence[Interval | None]  # by pair of rows
    seeds: int  # smallest number of seeds among the claim's rows
    follow_ups: Sequence["Verdict"] = ()  # verdicts at other scales

    @property
    def tested(self) -> bool:
        """True if all rows were run and can decide the claim."""
        return self.judgement in get_args(Tested)

    @property
    def words(self) -> str:
        """The judgement, marked if it rests on one seed."""
        return f"{self.judgement} in one seed" if self.tested and self.seeds == 1 else self.judgement

    @property
    def text(self) -> str:
        """The judgement in words, with the reason if it is not testable."""
        why = self.claim.why_untestable(self.scale)
        return f"{self.words}: {why}" if why else self.words

    @property
    def power(self) -> str:
        """The smallest difference in points that the test can show: half its widest interval; empty if untested."""
        widths = [each.high - each.low for each in self.differences if each]
        return f" ± {max(widths) / 2:.1f}" if self.tested else ""

    @property
    def link(self) -> str:
        """The claim in Markdown, linked to its table if one was run."""
        if not any(self.differences):
            return self.claim.text
        return link_to(self.claim.table.name, self.scale, self.claim.text)


def judged(claims: Sequence[Claim], tables: Sequence[TableRuns]) -> list[Verdict]:
    """Return each claim's verdict by the runs of ``tables``, with verdicts at further scales as follow-ups."""
    found = []
    for claim in claims:
        of_table = {read.table.scale: read for read in tables if read.table.name == claim.table.name}
        scales = list(filter(claim.about, of_table))
        main = next(filter(claim.decides, scales), claim.scale)
        first, *others = [_verdict(claim, of_table, scale) for scale in dict.fromkeys([main, *scales])]
        # a follow-up may have run only rows of other claims
        follow_ups = [one for one in others if one.judgement != "not run" and any(one.differences)]
        found.append(replace(first, follow_ups=follow_ups))
    return found


def across(main: Verdict) -> str:
    """Say which scales answer a claim differently and why, or that three data sets or more answer it alike."""
    tested = [one for one in (main, *main.follow_ups) if one.seeds > 1 and one.tested]
    apart = [f"{one.scale} and {other.scale}" for one, other in combinations(tested, 2) if _apart(one, other)]
    if apart:
        return f"; {', '.join(apart)} differ: {main.claim.differs or 'no explanation yet'}"
    scales = [one.scale for one in tested if one.judgement.startswith(("supported", "contradicted"))]
    data = {scale.partition("_")[0] for scale in scales}  # embedded_longer has the data of embedded
    return f"; alike at {', '.join(scales)}" if len(data) > 2 else ""


def _apart(one: Verdict, other: Verdict) -> bool:
    pairs = zip(one.differences, other.differences, strict=True)
    opposite = any(a and b and a.sign * b.sign < 0 for a, b in pairs)
    return opposite or {one.judgement.split()[0], other.judgement.split()[0]} == {"supported", "contradicted"}


def _verdict(claim: Claim, of_table: Mapping[str, TableRuns], scale: str) -> Verdict:
    runs = of_table.get(scale, TableRuns(claim.table, {}, {}, RowHits()))
    rows = runs.hits.keys() & set(chain.from_iterable(claim.pairs))
    seeds = min((len(runs.hits[row]) for row in rows), default=0)
    return Verdict(claim, scale, *judge(claim, runs, scale), seeds)


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
    """Return the number of each verdict, in words."""
    order = get_args(Judgement)
    found = sorted(verdicts, key=lambda one: (order.index(one.judgement), one.seeds == 1))
    return ", ".join(f"{words} {number}" for words, number in Counter(one.words for one in found).items())


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
    verdicts, lines = [], []
    for main in judged(read_claims(read.table.path.parent), [read]):
        for one in (main, *main.follow_ups):
            if one.scale == read.table.scale and any(one.differences):
                verdicts.append(one)
                lines.append(f"- {one.text}: {one.claim.text} ({_pairs(one.claim)}: {_ours(one)})")
    return [tally(verdicts), *lines] if verdicts else []


def verdict_list(found: Sequence[Verdict], page: str) -> str:
    """Return a short table in Markdown: a line per claim, linked to its table on a page, with its follow-ups."""
    body = []
    for main in found:
        more = "; ".join(f"{one.scale}: {one.words}{one.power}" for one in main.follow_ups)
        body.append([main.link.replace("](#", f"]({page}#"), main.text + main.power + across(main), more])
    return markdown_lines(["claim", "verdict", "follow-ups"], body, numbers=False)


def verdict_lines(found: Sequence[Verdict]) -> str:
    """Return a table in Markdown: a line per claim, linked to its table, and its follow-ups below it."""
    if not found:
        return ""
    body = []
    for main in found:
        body.append([main.link, *_cells(main)])
        for one in main.follow_ups:
            why = one.claim.follow_ups.get(one.scale, "")
            body.append([f"follow-up: {why}".removesuffix(": "), *_cells(one)])
    return markdown_lines(HEADER, body, numbers=False)


def _cells(one: Verdict) -> list[str]:
    papers = "; ".join(starmap("{:.1f} - {:.1f}".format, one.claim.paper())) or "figure, no numbers printed"
    rows, ours = f"{one.claim.table.name}: {_pairs(one.claim)}", _ours(one)
    return [rows, papers, f"{one.scale}: {ours}" if ours else "", one.text]


def _pairs(claim: Claim) -> str:
    pairs = "; ".join(map(" - ".join, claim.pairs))
    return pairs if claim.margin is None else f"{pairs}; within {plural(claim.margin, 'point')}"


def _ours(one: Verdict) -> str:
    return "; ".join(map(str, filter(None, one.differences)))


def link_to(table: str, scale: str, text: str = "") -> str:
    """Return a link to the heading ``TABLE (SCALE)``, by the anchor that GitHub gives it."""
    heading = f"{table} ({scale})"
    anchor = re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))
    return f"[{text or heading}](#{anchor})"
