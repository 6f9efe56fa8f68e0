"""Verdicts on real video before and after the rules of the judge were changed: a page with each change and its rule."""

from collections.abc import Sequence
from pathlib import Path

from lit_video.reports.verdicts import Verdict
from lit_video.tables.judging import NEEDS_CONTROL
from lit_video.utils.text import as_markdown, markdown_lines, plural
from lit_video.utils.yaml_files import read_yaml

BEFORE = Path(__file__).with_name("before.yaml")
HEADER = ["", "claim", "scale", "before", "after", "rule"]
# Rules by which verdicts became what they are, by the judgement of today
RULES = {
    "unfinished": "A row decides if it has finished. Where no record says how much was learned, its curve does",
    "not run": "A gain counts above each control of the table that costs as much, and all of them have to be run",
    "not testable here": "A claim about Kinetics-400 needs it where a claim about the same rows is nearer to our data",
}


def before_page(verdicts: Sequence[Verdict], head: str) -> str:
    """Return the page in Markdown, below its head; empty if no claim has an earlier verdict."""
    before = {entry["claim"]: entry for entry in read_yaml(BEFORE)["verdicts"]}
    scales: dict[tuple[str, ...], list[str]] = {}  # by the other cells of a line
    same = 0
    for number, main in enumerate(verdicts, 1):
        earlier = before.get(main.claim.text, {})
        for verdict in (main, *main.follow_ups):
            was = earlier.get(verdict.scale)
            now = after(verdict)
            if was and was != now:
                line = (str(number), as_markdown(main.claim.text), was, now, RULES.get(verdict.judged.judgement, ""))
                scales.setdefault(line, []).append(verdict.scale)
            same += was == now
    if not scales:
        return ""

    changed = sum(map(len, scales.values()))
    body = [[number, claim, ", ".join(names), *rest] for (number, claim, *rest), names in scales.items()]
    counts = f"{changed} of {plural(changed + same, 'verdict')} changed."
    return "\n\n".join([head.strip(), counts, markdown_lines(HEADER, body, numbers=False)])


def after(verdict: Verdict) -> str:
    """Return a verdict's words of today, without its reason unless that is a control which is missing."""
    return f"{verdict.judged.words}: {NEEDS_CONTROL}" if verdict.judged.why == NEEDS_CONTROL else verdict.judged.words
