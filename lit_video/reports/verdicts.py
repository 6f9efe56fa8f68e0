"""The papers' claims and what our runs say of them, as Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from lit_video.tables.claims import Claim, Judgement, count, judge
from lit_video.tables.statistics import Hits, Interval
from lit_video.utils.text import markdown_lines

HEADER = ["claim", "rows", "paper", "ours", "verdict"]

EXPLANATION = """\
A claim stands for pairs of rows. "paper" has the paper's numbers of each pair, "ours" the difference of ours with its
95 % interval over test videos and seeds. Supported: all intervals are above zero (of claims "within N points": above
-N); contradicted: one is below. One seed: a row of the claim was trained once, and the interval is of these models,
not of the methods. A small model on a small data set says what holds there, not what holds on the paper's
data."""

# of each table: heading of its section, and by scale of each row whether each test video was right
Measured = Mapping[str, Mapping[str, Mapping[str, Hits]]]


def verdicts(claims: Sequence[Claim], measured: Measured) -> str:
    """A heading, a table for each paper with a line per claim and scale that was run, and the count of verdicts."""
    judgements: list[Judgement] = []
    parts = ["## The papers' claims", EXPLANATION]
    for source, of_paper in groupby(claims, key=lambda claim: claim.source):
        body, last = [], None
        for claim in of_paper:
            of_table = measured.get(claim.table.name, {})
            of_scales = {scale: judge(claim, hits, scale) for scale, hits in of_table.items() if claim.about(scale)}
            # a follow-up runs some rows of a table, which other claims are not about
            run = {scale: judged for scale, judged in of_scales.items() if judged[0] != "not run" and any(judged[1])}
            for scale, (judgement, differences) in (run or of_scales or {"": judge(claim, {})}).items():
                judgements.append(judgement)
                verdict = _verdict(claim, scale, judgement, _seeds(claim, of_table.get(scale, {})))
                body.append(["" if claim is last else claim.text, *_cells(claim, scale, differences), verdict])
                last = claim
        parts.append(f"**{source}**\n\n{markdown_lines(HEADER, body, numbers=False)}")
    counts = ", ".join(f"{name} {number}" for name, number in count(judgements).items())
    return "\n\n".join([*parts[:2], f"Of {len(judgements)} verdicts: {counts}.", *parts[2:]])


def _seeds(claim: Claim, hits: Mapping[str, Hits]) -> int:
    """The fewest seeds that a row of the claim was run with."""
    return min((len(hits[row]) for pair in claim.pairs for row in pair if row in hits), default=0)


def _verdict(claim: Claim, scale: str, judgement: Judgement, seeds: int) -> str:
    if judgement == "not testable here":
        return f"{judgement}: {claim.why_untestable(scale)}"
    return judgement + (", of one seed" if seeds == 1 and judgement != "not run" else "")


def _cells(claim: Claim, scale: str, differences: Sequence[Interval | None]) -> Iterator[str]:
    pairs = "; ".join(f"{first} - {second}" for first, second in claim.pairs)
    link = link_to(claim.table.name, scale) if scale else claim.table.name
    yield f"{link}: {pairs}" + (f"; within {claim.margin:g} points" if claim.margin is not None else "")
    yield "; ".join(f"{a:.1f} - {b:.1f}" for a, b in claim.paper())
    measured = "; ".join(f"{d.value:+.1f} [{d.low:+.1f}, {d.high:+.1f}]" for d in differences if d)
    yield f"{scale}: {measured}" if measured else ""


def link_to(table: str, scale: str) -> str:
    """A link to the heading ``TABLE (SCALE)``, by the anchor that GitHub gives it."""
    heading = f"{table} ({scale})".lower().replace(" ", "-")
    return f"[{table}](#{''.join(c for c in heading if c.isalnum() or c in '-_')})"
