"""Verdicts of our runs on the papers' claims, grouped by paper, and written as Markdown."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar, get_args

from lit_video.tables.claims import Claim, Judgement, Measured, judge, read_claims
from lit_video.tables.reading import read_table
from lit_video.tables.statistics import Interval
from lit_video.tables.summary import TableRuns
from lit_video.tables.table import Table
from lit_video.utils.text import markdown_lines, natural, plural

T = TypeVar("T")
HEADER = ["claim", "rows", "paper", "ours", "verdict"]
OTHERS = "Other tables"  # heading of tables without a paper
PAPER = re.compile(r".*?arXiv:[\d.]+")
NUMBER = re.compile(r"(Table|Fig\.|section) [\d.]+\w?")


@dataclass(frozen=True)
class Verdict:
    """A claim judged by the runs at one scale; ``differences`` has an interval per pair of rows, or ``None``."""

    claim: Claim
    scale: str
    judgement: Judgement
    differences: Sequence[Interval | None]
    seeds: int

    @property
    def words(self) -> str:
        """The judgement, marked if it rests on one seed."""
        one_seed = self.seeds == 1 and not self.judgement.startswith("not ")
        return f"{self.judgement} in one seed" if one_seed else self.judgement

    @property
    def text(self) -> str:
        """The judgement in words, with the reason if it is not testable."""
        why = self.claim.why_untestable(self.scale) if self.judgement == "not testable here" else ""
        return self.words + (f": {why}" if why else "")

    @property
    def power(self) -> str:
        """The smallest difference in points that the test can show, half of its widest interval; empty if untested."""
        widths = [each.high - each.low for each in self.differences if each]
        return f" ± {max(widths) / 2:.1f}" if widths and not self.judgement.startswith("not ") else ""

    @property
    def link(self) -> str:
        """The claim in Markdown, linked to its table if one was run."""
        if not any(self.differences):
            return self.claim.text
        return link_to(self.claim.table.name, self.scale, self.claim.text)


def judged(claims: Sequence[Claim], measured: Mapping[str, Mapping[str, Measured]]) -> list[list[Verdict]]:
    """Return each claim's verdict, then those of its follow-ups; ``measured`` holds the runs by table and scale."""
    found = []
    for claim in claims:
        of_table = measured.get(claim.table.name, {})
        scales = [scale for scale in of_table if claim.about(scale)]
        main = next(filter(claim.decides, scales), claim.scale)
        first, *others = [_verdict(claim, of_table, scale) for scale in dict.fromkeys([main, *scales])]
        # a follow-up may have run only rows of other claims
        found.append([first, *(one for one in others if one.judgement != "not run" and any(one.differences))])
    return found


def across(found: Sequence[Verdict]) -> str:
    """Say which scales answer a claim differently and why, or that three data sets or more answer it alike."""
    tested = [one for one in found if one.seeds > 1 and not one.judgement.startswith("not ")]
    if apart := [f"{one.scale} and {other.scale}" for one, other in combinations(tested, 2) if _apart(one, other)]:
        return f"; {', '.join(apart)} differ: {found[0].claim.differs or 'no explanation yet'}"
    scales = [one.scale for one in tested if one.judgement.startswith(("supported", "contradicted"))]
    data = {scale.partition("_")[0] for scale in scales}  # embedded_longer has the data of embedded
    return f"; alike at {', '.join(scales)}" if len(data) > 2 else ""


def _apart(one: Verdict, other: Verdict) -> bool:
    pairs = zip(one.differences, other.differences, strict=True)
    opposite = any(a and b and a.sign * b.sign < 0 for a, b in pairs)
    return opposite or {each.judgement.split()[0] for each in (one, other)} == {"supported", "contradicted"}


def _verdict(claim: Claim, of_table: Mapping[str, Measured], scale: str) -> Verdict:
    runs = of_table.get(scale, Measured({}))
    seeds = (len(runs.hits[row]) for pair in claim.pairs for row in pair if row in runs.hits)
    return Verdict(claim, scale, *judge(claim, runs, scale), min(seeds, default=0))


def measured(runs: Sequence[tuple[TableRuns, Mapping[str, Any]]]) -> dict[str, dict[str, Measured]]:
    """Return the runs that claims are judged by, by table and scale.

    Rows count as blind to order only on a data set with a ceiling for blind models.
    """
    found: dict[str, dict[str, Measured]] = {}
    for read, data in runs:
        rows = [row for row in data["rows"] if row["sees_order"] is False and row["blind_ceiling"] is not None]
        found.setdefault(read.table.name, {})[read.table.scale] = Measured(read.hits, {row["name"] for row in rows})
    return found


def by_paper(tables: Sequence[tuple[Table, T]], claims: Sequence[Claim]) -> dict[str, list[list[tuple[Table, T]]]]:
    """Group items by paper and, in its order, by table: first those on the paper's data, then at the own scale.

    Papers are in the order of the claims, then other papers, then tables without a paper, as :data:`OTHERS`.
    """
    first = [claim.source for claim in claims]
    papers: dict[str, dict[str, list[tuple[Table, T]]]] = {}
    for table, what in sorted(tables, key=lambda one: _place(one[0], first)):
        papers.setdefault(paper_of(table), {}).setdefault(table.name, []).append((table, what))
    return {paper: list(of.values()) for paper, of in papers.items()}


def paper_of(table: Table) -> str:
    """Return name and number of the paper that printed a table, else :data:`OTHERS`."""
    found = PAPER.match(table.source)
    return found[0] if found else OTHERS


def number_of(table: Table) -> str:
    """Return the paper's number of a table, such as ``Table 2a``; empty if it has none."""
    found = NUMBER.search(table.source)
    return found[0] if found else ""


def _place(table: Table, papers: Sequence[str]) -> tuple[Any, ...]:
    paper, number = paper_of(table), number_of(table)
    known = papers.index(paper) if paper in papers else len(papers)
    kind = ("Table", "Fig.", "section", "").index(number.partition(" ")[0])
    first = table.on_papers_data, table.scale == read_table([table.path]).scale
    return paper == OTHERS, known, paper, kind, natural(number), table.name, *(not each for each in first), table.scale


def counted(verdicts: Sequence[Verdict]) -> str:
    """Return the number of each verdict, in words."""
    order = get_args(Judgement)
    found = sorted(verdicts, key=lambda one: (order.index(one.judgement), one.seeds == 1))
    return ", ".join(f"{words} {number}" for words, number in Counter(one.words for one in found).items())


def opening(verdicts: Sequence[Verdict]) -> str:
    """Say how many claims were judged, and by what kind of runs."""
    on_papers_data = any(one.claim.decides(one.scale) for one in verdicts)
    return f"{plural(len(verdicts), 'claim')} of the papers" + (
        "" if on_papers_data else ", tried by small models on other data than theirs"
    )


def tally(found: Sequence[Sequence[Verdict]]) -> str:
    """Say how many claims have each verdict."""
    verdicts = [main for main, *_ in found]
    return f"{opening(verdicts)}: {counted(verdicts)}."


def of_table(read: TableRuns, data: Mapping[str, Any]) -> list[str]:
    """Return the tally and a line for each claim about a table, judged by its runs at their scale."""
    claims = [claim for claim in read_claims(read.table.path.parent) if claim.table.name == read.table.name]
    found = judged(claims, measured([(read, data)]))
    verdicts = [one for each in found for one in each if one.scale == read.table.scale and any(one.differences)]
    lines = [f"- {one.text}: {one.claim.text} ({_pairs(one.claim)}: {_ours(one)})" for one in verdicts]
    return [tally([[one] for one in verdicts]), *lines] if verdicts else []


def verdict_list(found: Sequence[Sequence[Verdict]], page: str) -> str:
    """Return a short table in Markdown: a line per claim, linked to its table on a page, with its follow-ups."""
    body = []
    for main, *follow_ups in found:
        more = "; ".join(f"{one.scale}: {one.words}{one.power}" for one in follow_ups)
        verdict = main.text + main.power + across([main, *follow_ups])
        body.append([main.link.replace("](#", f"]({page}#"), verdict, more])
    return markdown_lines(["claim", "verdict", "follow-ups"], body, numbers=False)


def verdict_lines(found: Sequence[Sequence[Verdict]]) -> str:
    """Return a table in Markdown: a line per claim, linked to its table, and its follow-ups below it."""
    body = []
    for main, *follow_ups in found:
        body.append([main.link, *_cells(main)])
        for one in follow_ups:
            why = one.claim.follow_ups.get(one.scale, "")
            body.append([f"follow-up{why and f': {why}'}", *_cells(one)])
    return markdown_lines(HEADER, body, numbers=False)


def _cells(one: Verdict) -> Iterator[str]:
    yield f"{one.claim.table.name}: {_pairs(one.claim)}"
    yield "; ".join(f"{a:.1f} - {b:.1f}" for a, b in one.claim.paper()) or "figure, no numbers printed"
    ours = _ours(one)
    yield f"{one.scale}: {ours}" if ours else ""
    yield one.text


def _pairs(claim: Claim) -> str:
    pairs = "; ".join(f"{first} - {second}" for first, second in claim.pairs)
    if claim.margin is None:
        return pairs
    return f"{pairs}; within {plural(claim.margin, 'point')}"


def _ours(one: Verdict) -> str:
    return "; ".join(f"{d.value:+.1f} [{d.low:+.1f}, {d.high:+.1f}]" for d in one.differences if d)


def link_to(table: str, scale: str, text: str = "") -> str:
    """Return a link to the heading ``TABLE (SCALE)``, by the anchor that GitHub gives it."""
    heading = f"{table} ({scale})".lower().replace(" ", "-")
    return f"[{text or f'{table} ({scale})'}](#{''.join(c for c in heading if c.isalnum() or c in '-_')})"
