"""Put the contents of every section into the page's templates."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from lit_video.reports.html import views
from lit_video.reports.html.collect import Section
from lit_video.reports.verdicts import Verdict, by_paper, counted, number_of, opening
from lit_video.tables.agreement import certainty, sentences
from lit_video.tables.claims import Claim
from lit_video.tables.rendering import main_table
from lit_video.tables.table import Table
from lit_video.utils.colours import DARK, LIGHT


@dataclass(frozen=True)
class Cell:
    """Text of a cell, its sort key (``None``: last), and a CSS class."""

    text: str
    value: float | None
    kind: str


def render_page(
    sections: Sequence[Section], claims: Sequence[Claim], found: Sequence[Sequence[Verdict]], command: str
) -> str:
    """Return the whole page as HTML, with the verdicts that were ``found`` and the command that makes it."""
    environment = Environment(
        loader=PackageLoader("lit_video.reports.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    results = [result for section in sections for row in section.read.results.values() for result in row]
    papers = list(_papers(sections, claims, found))
    tally: dict[tuple[str, str], int] = {}
    for main in (each["main"] for paper in papers for each in paper["claims"]):
        key = main["verdict"].words, main["kind"]
        tally[key] = tally.get(key, 0) + 1
    return environment.get_template("page.html").render(
        light=LIGHT,
        dark=DARK,
        made=datetime.now().astimezone(),
        command=command,
        commits=sorted({str(result["commit"]) for result in results}),
        devices=sorted({str(result.get("device", "not recorded")) for result in results}),
        runs=len(results),
        papers=papers,
        tables=sum(len(paper["tables"]) for paper in papers),
        opening=opening([main for main, *_ in found]),
        tally=tally,
        ticks=[(tick, views.place(tick)) for tick in views.TICKS],
        of_papers=any(row.paper for each in sections for row in (*each.table.rows, *each.table.reported)),
    )


def _papers(
    sections: Sequence[Section], claims: Sequence[Claim], found: Sequence[Sequence[Verdict]]
) -> Iterator[dict[str, Any]]:
    """Yield the variables of each paper: its verdicts, and its tables, each with its sections at several scales."""
    names = {section.table.name: anchor(section.table) for section in reversed(sections)}
    seen: set[str] = set()
    for paper, tables in by_paper([(section.table, section) for section in sections], claims).items():
        first = [scales[0][1] for scales in tables]
        of_paper = [each for each in found if each[0].claim.source == paper]
        names |= {section.table.name: anchor(section.table) for section in first}
        links = {}
        for section in first:
            table = section.table
            name = f"{number_of(table).capitalize()}: {table.title}".removeprefix(": ")
            links[anchor(table)] = name if name not in seen else f"{name} ({table.name})"
            seen.add(name)
        yield {
            "name": paper,
            "anchor": _anchor(paper),
            "links": links,
            "claims": [
                {"main": views.verdict(main, names), "follow_ups": [views.verdict(one, names) for one in more]}
                for main, *more in of_paper
            ],
            "tables": [[_content(section, of_paper) for _, section in scales] for scales in tables],
        }


def anchor(table: Table) -> str:
    """Place of a table at its scale on the page."""
    return _anchor(f"{table.name}-{table.scale}")


def _anchor(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)


def _content(section: Section, verdicts: Sequence[Sequence[Verdict]]) -> dict[str, Any]:
    """Variables of a section's template."""
    why = (main.claim.follow_ups.get(section.table.scale) for main, *_ in verdicts)
    follow_ups = [one for _, *more in verdicts for one in more]
    here = [one for one in follow_ups if (one.claim.table.name, one.scale) == (section.table.name, section.table.scale)]
    table, pairs = section.table, views.pairs(section)
    header, body = cells(section.data)
    return {
        "anchor": anchor(table),
        "number": number_of(table).capitalize(),
        "why": next(filter(None, why), ""),
        "verdicts": counted(here),
        "dots": views.dots(section),
        "section": section,
        "table": table,
        "accuracy": views.accuracy(section),
        "header": header,
        "body": body,
        "agreement": section.data["agreement"],
        "sentences": sentences(section.data)[:1],
        "certainty": certainty(section.data),
        "pairs": pairs,
        "groups": views.groups(section),
        "curves": views.learning_curves(section),
        "confusions": views.confusions(section),
        "mistakes": views.mistakes(section),
        "calibrations": views.calibrations(section),
        "classes": views.classes(section),
        "without": _without(section),
    }


def cells(data: dict[str, Any]) -> tuple[list[str], list[list[Cell]]]:
    """Header and body of the table as ``table`` prints it; cells are sorted by the number that they begin with."""
    _, header, body = main_table(data)
    return header, [[_cell(text, name) for text, name in zip(line, header, strict=True)] for line in body]


def _cell(text: str, header: str) -> Cell:
    number = re.match(r"[+-]?\d[\d.]*(e[+-]\d+)?", text)
    kind = "paper" if header.endswith(" paper") else "ours" if header.endswith(" ours") else ""
    return Cell(text, float(number[0]) if number else None, "missing" if kind == "ours" and not number else kind)


def _without(section: Section) -> dict[str, list[str]]:
    """Labels of rows that lack a file in some run, by what it holds."""
    results, folds = section.read.results, views.folds(section)
    kept = {"predictions": section.read.predictions, "curves": section.curves}
    without = {
        what: [
            label
            for row, label in section.labels.items()
            if row not in folds and len(of_rows.get(row, ())) < len(results[row])
        ]
        for what, of_rows in kept.items()
    }
    return {what: ["all rows"] if len(rows) == len(section.labels) else rows for what, rows in without.items() if rows}
