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
from lit_video.reports.verdicts import Verdict, by_paper, number_of, opening, verdict_counts
from lit_video.tables.claims import Claim
from lit_video.tables.rendering import certainty, main_table, sentences
from lit_video.utils.colours import DARK, LIGHT
from lit_video.utils.parallel import with_progress

Papers = Mapping[str, Mapping[str, Sequence[Section]]]  # by paper and table: a section per scale
Pictures = Mapping[tuple[str, str], dict[str, Any]]  # by table and scale: contents by view
SECTION_VIEWS = (
    views.accuracy,
    views.advice,
    views.confusions,
    views.curves,
    views.groups,
    views.mistakes,
    views.rows,
    views.time,
    views.rows_without_predictions,
)


def render_page(
    sections: Sequence[Section], claims: Sequence[Claim], verdicts: Sequence[Verdict], *, command: str
) -> str:
    """Return the whole page as HTML, with the verdicts on the claims and the command that makes it."""
    jinja = Environment(loader=PackageLoader("lit_video.reports.html"), autoescape=True, undefined=StrictUndefined)
    jinja.trim_blocks = True
    jinja.lstrip_blocks = True

    runs = list(chain.from_iterable(section.finished for section in sections))
    by_name = by_paper(sections, claims)
    # drawing what every section shows beside its table takes nearly all of a report's time
    drawn = ({view.__name__: view(section) for view in SECTION_VIEWS} for section in sections)
    pictures: dict[tuple[str, str], dict[str, Any]] = {}
    for section, content in zip(sections, with_progress(drawn, len(sections), "tables drawn"), strict=True):
        pictures[_key(section)] = content

    # the page is that of a single model of the user's own videos
    own_model = len(pictures) == 1 and all(content["advice"] for content in pictures.values())
    rows = chain.from_iterable((*section.table.rows, *section.table.reported) for section in sections)

    return jinja.get_template("page.html").render(
        light=LIGHT,
        dark=DARK,
        made=datetime.now().astimezone(),
        command=command,
        commits=sorted({run.identity.commit for run in runs}),
        devices=sorted({run.result.device for run in runs}),
        runs=len(runs),
        papers=list(_papers(by_name, verdicts, pictures)),
        tables=sum(len(tables) for tables in by_name.values()),
        opening=opening(verdicts),
        tally=Counter((verdict.judged.words, views.kind(verdict)) for verdict in verdicts),
        survived=Counter((verdict.judged.words, views.kind(verdict)) for verdict in verdicts if verdict.survives),
        ticks=[(points, views.place(points)) for points in views.TICKS],
        of_papers=any(row.paper for row in rows),
        own_model=own_model,
        title=sections[0].table.title if own_model else "lit_video: results",
    )


def _key(section: Section) -> tuple[str, str]:
    return section.table.name, section.table.scale


def _papers(papers: Papers, verdicts: Sequence[Verdict], pictures: Pictures) -> Iterator[dict[str, Any]]:
    """Yield each paper's template variables: its verdicts, and its tables with their sections by scale."""
    anchors = {}
    for tables in papers.values():
        for name, scales in tables.items():
            anchors[name] = anchor(f"{name}-{scales[0].table.scale}")

    for paper, tables in papers.items():
        of_paper = [verdict for verdict in verdicts if verdict.claim.source == paper]

        links = {}
        contents = []
        for name, scales in tables.items():
            table = scales[0].table
            links[anchors[name]] = f"{number_of(table).capitalize()}: {table.title}".removeprefix(": ")
            contents.append([_content(section, of_paper) | pictures[_key(section)] for section in scales])

        yield {
            "name": paper,
            "anchor": anchor(paper),
            "links": links,
            "claims": [views.verdict(verdict, anchors) for verdict in of_paper],
            "tables": contents,
        }


def anchor(text: str) -> str:
    """Return the anchor of a paper, or of a table at its scale, on the page."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)


def _content(section: Section, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return a section's template variables; ``verdicts`` are those on the paper's claims, with their follow-ups."""
    table = section.table
    reasons = [verdict.claim.follow_ups.get(table.scale) for verdict in verdicts]

    here = []
    for follow_up in chain.from_iterable(verdict.follow_ups for verdict in verdicts):
        if follow_up.claim.table.name == table.name and follow_up.scale == table.scale:
            here.append(follow_up)

    _, header, body = main_table(section.data)
    return {
        "anchor": anchor(f"{table.name}-{table.scale}"),
        "number": number_of(table).capitalize(),
        "why": next(filter(None, reasons), ""),
        "verdicts": verdict_counts(here),
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
