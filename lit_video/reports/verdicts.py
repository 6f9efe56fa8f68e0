"""The papers' claims and what our runs say of them, as Markdown. Imports no torch."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from lit_video.tables.claims import Claim, Judgement, count, judge
from lit_video.tables.statistics import Hits, Interval
from lit_video.utils.text_tables import markdown_lines

HEADER = ["claim", "rows", "paper", "ours", "verdict"]

EXPLANATION = """\
A claim stands for pairs of rows. "paper" has the paper's numbers of each pair, "ours" the difference of ours with its
95 % interval over test videos and seeds. Supported: all intervals are above zero (of claims "within N points": above
-N); contradicted: one is below. Of one seed: a row of the claim was trained once, and the interval is of these models,
not of the methods. A small model on a small data set says what holds there, not what holds on the paper's
data."""

# of each table: heading of its section, and by scale of each row whether each test video was right
Measured = Mapping[str, Mapping[str, Mapping[str, Hits]]]


def verdicts(claims: Sequence[Claim], measured: Measured) -> str:
    """A heading, a table for each paper with a line per claim and scale that was run, and the count of verdicts."""
    judgements: list[Judgement] = []
    parts = ["## The papers' claims", EXPLANATION]
    for source, of_paper in groupby(claims, key=lambda claim: claim.source):
        body = []
        for claim in of_paper:
            at_scales = {scale: (claim.at(scale), hits) for scale, hits in measured.get(claim.table.name, {}).items()}
            of_scales = {scale: (*judge(at, hits), _seeds(at, hits)) for scale, (at, hits) in at_scales.items() if at}
            # a follow-up runs some rows of a table, which other claims are not about
            run = {scale: judged for scale, judged in of_scales.items() if judged[0] != "not run"}
            for scale, judged in (run or of_scales or {"": (*judge(claim, {}), 0)}).items():
                judgements.append(judged[0])
                body.append(list(_cells(claim, scale, *judged)))
        parts.append(f"**{source}**\n\n{markdown_lines(HEADER, body, numbers=False)}")
    counts = ", ".join(f"{name} {number}" for name, number in count(judgements).items())
    return "\n\n".join([*parts[:2], f"Of {len(judgements)} verdicts: {counts}.", *parts[2:]])


def _seeds(claim: Claim, hits: Mapping[str, Hits]) -> int:
    """The fewest seeds that a row of the claim was run with."""
    return min((len(hits[row]) for pair in claim.pairs for row in pair if row in hits), default=0)


def _cells(
    claim: Claim, scale: str, judgement: Judgement, differences: Sequence[Interval | None], seeds: int
) -> Iterator[str]:
    pairs = "; ".join(f"{first} - {second}" for first, second in claim.pairs)
    link = f"[{claim.table.name}](#{claim.table.name}-{scale})" if scale else claim.table.name
    yield claim.text
    yield f"{link}: {pairs}" + (f"; within {claim.margin:g} points" if claim.margin is not None else "")
    yield "; ".join(f"{a:.1f} - {b:.1f}" for a, b in claim.paper())
    measured = "; ".join(f"{d.value:+.1f} [{d.low:+.1f}, {d.high:+.1f}]" for d in differences if d)
    yield f"{scale}: {measured}" if measured else ""
    if judgement == "not testable here":
        yield f"{judgement}: {claim.untestable}"
    else:
        yield judgement + (", of one seed" if seeds == 1 and judgement != "not run" else "")
