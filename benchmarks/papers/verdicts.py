"""Verdicts on the papers' claims as tables in Markdown, and how scales and claims stand to each other."""

import re
from collections.abc import Sequence
from itertools import combinations

from lit_video.reports.verdicts import Verdict, differences_in_words, pairs_in_words
from lit_video.utils.text import markdown_lines

VERDICT_HEADER = ["claim", "rows", "paper", "ours", "verdict"]


def link_of(verdict: Verdict) -> str:
    """Return a verdict's claim in Markdown, linked to its table if one was run."""
    claim = verdict.claim
    return link_to(claim.table.name, verdict.scale, claim.text) if verdict.runs else claim.text


def across(main: Verdict) -> str:
    """Say which scales answer a claim differently and why, or that at least three data sets answer it alike."""
    tested = [verdict for verdict in (main, *main.follow_ups) if verdict.judged.tested]

    apart = []
    for first, second in combinations(tested, 2):
        if _apart(first, second):
            apart.append(f"{first.scale} and {second.scale}")
    if apart:
        return f"; {', '.join(apart)} differ: {main.claim.differs or 'no explanation yet'}"

    scales = [verdict.scale for verdict in tested if verdict.judged.judgement.startswith(("supported", "contradicted"))]
    # embedded_longer and embedded+gpu have the data of embedded
    data = {re.split("[_+-]", scale)[0] for scale in scales}
    return f"; alike at {', '.join(scales)}" if len(data) > 2 else ""


def _apart(first: Verdict, second: Verdict) -> bool:
    """Return whether two scales answer a claim differently: by their judgements, or by the sign of a difference."""
    answers = {first.judged.judgement.split()[0], second.judged.judgement.split()[0]}
    if answers == {"supported", "contradicted"}:
        return True

    signs = {pair.rows: pair.difference.sign for pair in second.judged.pairs if pair.difference}
    return any(pair.difference and pair.difference.sign * signs.get(pair.rows, 0) < 0 for pair in first.judged.pairs)


def sharing(verdicts: Sequence[Verdict]) -> list[tuple[int, list[int]]]:
    """Return the claims whose verdicts share a run with later claims, and these, by their numbers from 1.

    Equal predictions count as one run, because ``--reuse`` takes one training for equal rows of several tables.
    """
    tested = [(number, verdict) for number, verdict in enumerate(verdicts, 1) if verdict.judged.tested]

    shared = []
    for number, verdict in tested:
        others = [other for other, later in tested if other > number and verdict.runs & later.runs]
        if others:
            shared.append((number, others))
    return shared


def verdict_list(verdicts: Sequence[Verdict], page: str, first: int = 1) -> str:
    """Return a short table in Markdown: a line per claim, linked to its table on a page, with its follow-ups.

    Claims are numbered from ``first``.
    """
    body = []
    for number, main in enumerate(verdicts, first):
        link = link_of(main).replace("](#", f"]({page}#")
        verdict = main.text + main.power + across(main)
        follow_ups = [f"{other.scale}: {_shortly(other, main)}{other.power}" for other in main.follow_ups]
        body.append([str(number), link, verdict, "; ".join(follow_ups)])
    return markdown_lines(["", "claim", "verdict", "follow-ups"], body, numbers=False)


def _shortly(follow_up: Verdict, main: Verdict) -> str:
    """Return a follow-up's verdict, without its reason if that is the main verdict's too."""
    why = follow_up.judged.why
    return follow_up.judged.words if why and why == main.judged.why else follow_up.text


def verdict_lines(verdicts: Sequence[Verdict]) -> str:
    """Return a table in Markdown: a line per claim, linked to its table, and its follow-ups below it."""
    if not verdicts:
        return ""

    body = []
    for main in verdicts:
        body.append([f"{link_of(main)} ({main.claim.section})", *_cells(main)])
        for follow_up in main.follow_ups:
            why = follow_up.claim.follow_ups.get(follow_up.scale, "")
            body.append([f"follow-up: {why}".removesuffix(": "), *_cells(follow_up)])
    return markdown_lines(VERDICT_HEADER, body, numbers=False)


def _cells(verdict: Verdict) -> list[str]:
    """Return the cells of a verdict: its rows, the paper's numbers, our differences, the judgement."""
    claim = verdict.claim
    papers = [f"{first:.1f} - {second:.1f}" for first, second in claim.paper()]
    differences = differences_in_words(verdict)
    return [
        f"{claim.table.name}: {pairs_in_words(claim)}",
        "; ".join(papers) or "no numbers printed",
        f"{verdict.scale}: {differences}" if differences else "",
        verdict.text,
    ]


def link_to(table: str, scale: str, text: str = "") -> str:
    """Return a link to the heading ``TABLE (SCALE)``, by the anchor that GitHub gives it."""
    heading = f"{table} ({scale})"
    anchor = re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))
    return f"[{text or heading}](#{anchor})"
