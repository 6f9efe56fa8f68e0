"""Put the contents of every section into the page's templates."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from lit_video.reports.html import views
from lit_video.reports.html.collect import Section
from lit_video.reports.verdicts import Verdict, by_paper, counted, number_of, opening
from lit_video.tables.agreement import certainty, sentences
from lit_video.tables.claims import Claim
from lit_video.tables.rendering import main_table
from lit_video.utils.colours import DARK, LIGHT
from lit_video.utils.parallel import with_progress

Papers = Mapping[str, Mapping[str, Sequence[Section]]]  # by paper and table: a section per scale
Pictures = Mapping[tuple[str, str], dict[str, Any]]  # by table and scale: contents by view
VIEWS = (
    views.accuracy,
    views.confusions,
    views.curves,
    views.groups,
    views.mistakes,
    views.rows,
    views.time,
    views.without,
)


def render_page(sections: Sequence[Section], claims: Sequence[Claim], found: Sequence[Verdict], command: str) -> str:
    """Return the whole page as HTML, with the verdicts that were ``found`` and the command that makes it."""
    jinja = Environment(loader=PackageLoader("lit_video.reports.html"), autoescape=True, undefined=StrictUndefined)
    jinja.trim_blocks = jinja.lstrip_blocks = True
    runs = list(chain.from_iterable(section.finished for section in sections))
    by_name = by_paper(sections, claims)
    drawn = with_progress(map(_drawn, sections), len(sections), "tables drawn")
    pictures = {_key(section): content for section, content in zip(sections, drawn, strict=True)}
    return jinja.get_template("page.html").render(
        light=LIGHT,
        dark=DARK,
        made=datetime.now().astimezone(),
        command=command,
        commits=sorted({run.identity.commit for run in runs}),
        devices=sorted({run.result.device for run in runs}),
        runs=len(runs),
        papers=list(_papers(by_name, found, pictures)),
        tables=sum(map(len, by_name.values())),
        opening=opening(found),
        tally=Counter((one.words, views.kind(one)) for one in found),
        survived=Counter((one.words, views.kind(one)) for one in found if one.survives),
        ticks=list(zip(views.TICKS, map(views.place, views.TICKS), strict=True)),
        of_papers=any(row.paper for each in sections for row in (*each.table.rows, *each.table.reported)),
    )


def _key(section: Section) -> tuple[str, str]:
    return section.table.name, section.table.scale


def _drawn(section: Section) -> dict[str, Any]:
    """Return what a section shows beside its table, by view; drawing takes nearly all of a report's time."""
    return {view.__name__: view(section) for view in VIEWS}


def _papers(papers: Papers, found: Sequence[Verdict], pictures: Pictures) -> Iterator[dict[str, Any]]:
    """Yield each paper's template variables: its verdicts, and its tables with their sections by scale."""
    anchors = {}
    for tables in papers.values():
        for name, scales in tables.items():
            anchors[name] = anchor(f"{name}-{scales[0].table.scale}")
    for paper, tables in papers.items():
        verdicts, links, contents = [one for one in found if one.claim.source == paper], {}, []
        for name, scales in tables.items():
            first = scales[0].table
            links[anchors[name]] = f"{number_of(first).capitalize()}: {first.title}".removeprefix(": ")
            contents.append([_content(section, verdicts) | pictures[_key(section)] for section in scales])
        claims = [views.verdict(main, anchors) for main in verdicts]
        yield {"name": paper, "anchor": anchor(paper), "links": links, "claims": claims, "tables": contents}


def anchor(text: str) -> str:
    """Return the anchor of a paper, or of a table at its scale, on the page."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)


def _content(section: Section, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    table, follow_ups = section.table, chain.from_iterable(main.follow_ups for main in verdicts)
    here = [one for one in follow_ups if one.claim.table.name == table.name and one.scale == table.scale]
    _, header, body = main_table(section.data)
    return {
        "anchor": anchor(f"{table.name}-{table.scale}"),
        "number": number_of(table).capitalize(),
        "why": next(filter(None, (main.claim.follow_ups.get(table.scale) for main in verdicts)), ""),
        "verdicts": counted(here),
        "table": table,
        "terms": "; ".join(section.data.terms),
        "header": header,
        "body": body,
        "labels": section.labels,
        "pairs": section.data.pairs,
        "ordered": bool(section.data.agreement.orderings),
        "sentences": sentences(section.data)[:1],
        "certainty": certainty(section.data),
    }
