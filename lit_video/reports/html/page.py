"""Put the contents of every section into the page's templates."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from lit_video.reports.html import views
from lit_video.reports.html.collect import Section
from lit_video.reports.verdicts import Verdict, by_paper, counted, number_of, opening, paper_of
from lit_video.tables.agreement import certainty, sentences
from lit_video.tables.claims import Claim
from lit_video.tables.rendering import main_table
from lit_video.tables.table import Table
from lit_video.utils.colours import DARK, LIGHT
from lit_video.utils.parallel import with_progress

VIEWS = (
    *(views.accuracy, views.confusions, views.curves, views.groups, views.mistakes, views.pairs),
    *(views.rows, views.without),
)


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
    number = len({paper_of(each.table) for each in sections})
    papers = list(with_progress(_papers(sections, claims, found), number, "papers drawn"))
    judged = [each["main"] for paper in papers for each in paper["claims"]]
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
        tally=Counter((main["verdict"].words, main["kind"]) for main in judged),
        ticks=[(tick, views.place(tick)) for tick in views.TICKS],
        of_papers=any(row.paper for each in sections for row in (*each.table.rows, *each.table.reported)),
    )


def _papers(
    sections: Sequence[Section], claims: Sequence[Claim], found: Sequence[Sequence[Verdict]]
) -> Iterator[dict[str, Any]]:
    """Yield each paper's template variables: its verdicts, and its tables with their sections by scale."""
    anchors = {section.table.name: anchor(section.table) for section in reversed(sections)}
    for paper, tables in by_paper([(section.table, section) for section in sections], claims).items():
        first = [scales[0][0] for scales in tables]
        of_paper = [each for each in found if each[0].claim.source == paper]
        anchors |= {table.name: anchor(table) for table in first}
        links = {anchor(table): f"{number_of(table).capitalize()}: {table.title}".removeprefix(": ") for table in first}
        yield {
            "name": paper,
            "anchor": _anchor(paper),
            "links": links,
            "claims": [
                {"main": views.verdict(main, anchors), "follow_ups": [views.verdict(one, anchors) for one in more]}
                for main, *more in of_paper
            ],
            "tables": [[_content(section, of_paper) for _, section in scales] for scales in tables],
        }


def anchor(table: Table) -> str:
    """Return the anchor of a table at its scale on the page."""
    return _anchor(f"{table.name}-{table.scale}")


def _anchor(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)


def _content(section: Section, verdicts: Sequence[Sequence[Verdict]]) -> dict[str, Any]:
    table, name = section.table, (section.table.name, section.table.scale)
    here = [one for _, *follow_ups in verdicts for one in follow_ups if (one.claim.table.name, one.scale) == name]
    _, header, body = main_table(section.data)
    return {
        "anchor": anchor(table),
        "number": number_of(table).capitalize(),
        "why": next(filter(None, (main.claim.follow_ups.get(table.scale) for main, *_ in verdicts)), ""),
        "verdicts": counted(here),
        "section": section,
        "table": table,
        "header": header,
        "body": body,
        "ordered": bool(section.data["agreement"]["orderings"]),
        "sentences": sentences(section.data)[:1],
        "certainty": certainty(section.data),
        **{view.__name__: view(section) for view in VIEWS},
    }
