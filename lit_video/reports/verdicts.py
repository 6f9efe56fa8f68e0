"""The papers' claims and what our runs say of them, as Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import get_args

from lit_video.tables.claims import Claim, Judgement, Measured, judge
from lit_video.tables.statistics import Hits, Interval
from lit_video.utils.text import markdown_lines

HEADER = ["claim", "rows", "paper", "ours", "verdict"]

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


def verdicts(claims: Sequence[Claim], measured: Mapping[str, Mapping[str, Measured]]) -> str:
    """A heading, the count of verdicts, and a table for each paper: a line per claim, and its follow-ups below it.

    Args:
        claims: the papers'.
        measured: runs by table and scale.
    """
    judgements: list[Judgement] = []
    of_follow_ups: dict[str, list[Judgement]] = {}
    parts = ["## The papers' claims", EXPLANATION]
    for source, of_paper in groupby(claims, key=lambda claim: claim.source):
        body = []
        for claim in of_paper:
            of_table = measured.get(claim.table.name, {})
            scales = [scale for scale in of_table if claim.about(scale)]
            main = next(filter(claim.decides, scales), claim.scale)
            for scale in [main, *(each for each in scales if each != main)]:
                runs = of_table.get(scale, Measured({}))
                judgement, differences = judge(claim, runs, scale)
                ran = judgement != "not run" and any(differences)  # a follow-up has rows that other claims are about
                if scale == main:
                    judgements.append(judgement)
                elif ran:
                    of_follow_ups.setdefault(scale, []).append(judgement)
                if scale == main or ran:
                    why = claim.follow_ups.get(scale, "")
                    text = claim.text if scale == main else f"follow-up{why and f': {why}'}"
                    verdict = _verdict(claim, scale, judgement, _seeds(claim, runs.hits))
                    body.append([text, *_cells(claim, scale, differences), verdict])
        parts.append(f"**{source}**\n\n{markdown_lines(HEADER, body, numbers=False)}")
    lines = [f"Of {len(judgements)} claims: {_counted(judgements)}."]
    lines += [f"Follow-ups at {scale}: {_counted(of_follow_ups[scale])}." for scale in sorted(of_follow_ups)]
    return "\n\n".join([*parts[:2], " ".join(lines), *parts[2:]])


def _counted(judgements: Sequence[Judgement]) -> str:
    return ", ".join(f"{verdict} {number}" for verdict in get_args(Judgement) if (number := judgements.count(verdict)))


def _seeds(claim: Claim, hits: Mapping[str, Hits]) -> int:
    """The fewest seeds that a row of the claim was run with."""
    return min((len(hits[row]) for pair in claim.pairs for row in pair if row in hits), default=0)


def _verdict(claim: Claim, scale: str, judgement: Judgement, seeds: int) -> str:
    if judgement == "not testable here":
        return f"{judgement}: {claim.why_untestable(scale)}"
    return judgement + (", of one seed" if seeds == 1 and judgement != "not run" else "")


def _cells(claim: Claim, scale: str, differences: Sequence[Interval | None]) -> Iterator[str]:
    pairs = "; ".join(f"{first} - {second}" for first, second in claim.pairs)
    link = link_to(claim.table.name, scale) if any(differences) else claim.table.name
    yield f"{link}: {pairs}" + (
        f"; within {claim.margin:g} point{'s' * (claim.margin != 1)}" if claim.margin is not None else ""
    )
    yield "; ".join(f"{a:.1f} - {b:.1f}" for a, b in claim.paper())
    measured = "; ".join(f"{d.value:+.1f} [{d.low:+.1f}, {d.high:+.1f}]" for d in differences if d)
    yield f"{scale}: {measured}" if measured else ""


def link_to(table: str, scale: str) -> str:
    """A link to the heading ``TABLE (SCALE)``, by the anchor that GitHub gives it."""
    heading = f"{table} ({scale})".lower().replace(" ", "-")
    return f"[{table}](#{''.join(c for c in heading if c.isalnum() or c in '-_')})"
