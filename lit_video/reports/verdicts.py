"""The papers' claims and what our runs say of them, paper by paper; their verdicts as Markdown."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from lit_video.tables.claims import Claim, Judgement, Measured, judge
from lit_video.tables.reading import read_table
from lit_video.tables.statistics import Interval
from lit_video.tables.summary import TableRuns
from lit_video.tables.table import Table
from lit_video.utils.text import markdown_lines

T = TypeVar("T")
HEADER = ["claim", "rows", "paper", "ours", "verdict"]
OTHERS = "Other tables"  # that no paper printed
PAPER = re.compile(r".*?arXiv:[\d.]+")
NUMBER = re.compile(r"(Table|Fig\.|section) ([\d.]+)(\w?)")

EXPLANATION = """\
A claim stands for pairs of rows, and has one verdict: that of the runs on its own data set, else of those at the
table's own scale. "paper" has the paper's numbers of each pair, "ours" the difference of ours with its 95 % interval
over test videos and seeds. The pairs of a claim are corrected for their number (Holm).

| verdict | intervals |
| --- | --- |
| supported | every one above 0; of rows "within N points" inside -N to N (equivalence) |
| supported by construction | supported, and the worse rows are blind to the order of frames, which the data set needs |
| contradicted | one below 0; of rows within N points outside -N to N |
| undecided | neither |
| too few videos to tell | of rows within N points: neither, and one is wider than from -N to N |
| of one seed | a row was trained once: the interval covers test videos only, not the variance of training |

A small model on a small data set shows what holds there, not what holds on the paper's data. Follow-ups name why they
were run; they change no verdict."""


@dataclass(frozen=True)
class Verdict:
    """A claim judged by the runs at one scale; ``differences`` has those of its pairs, ``None`` where not run."""

    claim: Claim
    scale: str
    judgement: Judgement
    differences: Sequence[Interval | None]
    seeds: int

    @property
    def text(self) -> str:
        """The judgement, with why it cannot be made, and whether it rests on one seed."""
        if self.judgement == "not testable here":
            return f"{self.judgement}: {self.claim.why_untestable(self.scale)}"
        return self.judgement + (", of one seed" if self.seeds == 1 and self.judgement != "not run" else "")


def judged(claims: Sequence[Claim], measured: Mapping[str, Mapping[str, Measured]]) -> list[list[Verdict]]:
    """The verdict of each claim, and after it those of its follow-ups.

    ``measured`` holds the runs by table and scale.
    """
    found = []
    for claim in claims:
        of_table = measured.get(claim.table.name, {})
        scales = [scale for scale in of_table if claim.about(scale)]
        main = next(filter(claim.decides, scales), claim.scale)
        each = [_judge(claim, of_table, scale) for scale in [main, *(other for other in scales if other != main)]]
        # a follow-up has rows that other claims are about
        found.append(each[:1] + [one for one in each[1:] if one.judgement != "not run" and any(one.differences)])
    return found


def _judge(claim: Claim, of_table: Mapping[str, Measured], scale: str) -> Verdict:
    runs = of_table.get(scale, Measured({}))
    seeds = (len(runs.hits[row]) for pair in claim.pairs for row in pair if row in runs.hits)
    return Verdict(claim, scale, *judge(claim, runs, scale), min(seeds, default=0))


def measured(runs: Sequence[tuple[TableRuns, Mapping[str, Any]]]) -> dict[str, dict[str, Measured]]:
    """Runs to judge claims by, by table and scale, from those and their summaries.

    Blind rows are those of a data set with a ceiling for them.
    """
    found: dict[str, dict[str, Measured]] = {}
    for read, data in runs:
        rows = [row for row in data["rows"] if row["sees_order"] is False and row["blind_ceiling"] is not None]
        found.setdefault(read.table.name, {})[read.table.scale] = Measured(read.hits, {row["name"] for row in rows})
    return found


def by_paper(
    tables: Sequence[tuple[Table, T]], claims: Sequence[Claim]
) -> dict[str, tuple[list[Claim], list[list[tuple[Table, T]]]]]:
    """A paper's claims, and what belongs to its tables: in its order, a table's scales together, its own one first.

    The papers are in the order of the claims, others behind them; last the tables of none, as :data:`OTHERS`.
    """
    first = [claim.source for claim in claims]
    papers: dict[str, dict[str, list[tuple[Table, T]]]] = {}
    for table, what in sorted(tables, key=lambda one: _place(one[0], first)):
        papers.setdefault(paper_of(table), {}).setdefault(table.name, []).append((table, what))
    return {
        paper: ([claim for claim in claims if claim.source == paper], list(of.values())) for paper, of in papers.items()
    }


def paper_of(table: Table) -> str:
    """Name and number of the paper that printed a table, else :data:`OTHERS`."""
    found = PAPER.match(table.source)
    return found[0] if found else OTHERS


def number_of(table: Table) -> str:
    """What the paper calls its table, such as ``Table 2a``; empty for none."""
    found = NUMBER.search(table.source)
    return found[0] if found else ""


def _place(table: Table, papers: Sequence[str]) -> tuple[Any, ...]:
    """What tables are sorted by."""
    paper, number = paper_of(table), NUMBER.search(table.source)
    known = papers.index(paper) if paper in papers else len(papers)
    kind, at, letter = (number[1], float(number[2]), number[3]) if number else ("", 0.0, "")
    order = ("Table", "Fig.", "section", "").index(kind)
    first = table.on_papers_data, table.scale == read_table([table.path]).scale
    return paper == OTHERS, known, paper, order, at, letter, table.name, *(not each for each in first), table.scale


def counted(verdicts: Sequence[Verdict]) -> str:
    """Number of each judgement, in words."""
    found = [one.judgement for one in verdicts]
    return ", ".join(f"{each} {number}" for each in get_args(Judgement) if (number := found.count(each)))


def tally(found: Sequence[Sequence[Verdict]]) -> str:
    """How many claims and follow-ups have each verdict."""
    follow_ups: dict[str, list[Verdict]] = {}
    for one in (one for of_claim in found for one in of_claim[1:]):
        follow_ups.setdefault(one.scale, []).append(one)
    lines = [f"Of {len(found)} claims: {counted([main for main, *_ in found])}."]
    return " ".join(
        [*lines, *(f"Follow-ups at {scale}: {counted(follow_ups[scale])}." for scale in sorted(follow_ups))]
    )


def verdict_lines(found: Sequence[Sequence[Verdict]]) -> str:
    """A table in Markdown: a line per claim, linked to its table, and its follow-ups below it."""
    body = []
    for main, *follow_ups in found:
        linked = main.claim.text
        if any(main.differences):
            linked = link_to(main.claim.table.name, main.scale, linked)
        body.append([linked, *_cells(main)])
        for one in follow_ups:
            why = one.claim.follow_ups.get(one.scale, "")
            body.append([f"follow-up{why and f': {why}'}", *_cells(one)])
    return markdown_lines(HEADER, body, numbers=False)


def _cells(one: Verdict) -> Iterator[str]:
    claim = one.claim
    pairs = "; ".join(f"{first} - {second}" for first, second in claim.pairs)
    yield f"{claim.table.name}: {pairs}" + (
        f"; within {claim.margin:g} point{'s' * (claim.margin != 1)}" if claim.margin is not None else ""
    )
    yield "; ".join(f"{a:.1f} - {b:.1f}" for a, b in claim.paper()) or "figure, no numbers printed"
    ours = "; ".join(f"{d.value:+.1f} [{d.low:+.1f}, {d.high:+.1f}]" for d in one.differences if d)
    yield f"{one.scale}: {ours}" if ours else ""
    yield one.text


def link_to(table: str, scale: str, text: str = "") -> str:
    """A link to the heading ``TABLE (SCALE)``, by the anchor that GitHub gives it."""
    heading = f"{table} ({scale})".lower().replace(" ", "-")
    return f"[{text or f'{table} ({scale})'}](#{''.join(c for c in heading if c.isalnum() or c in '-_')})"
