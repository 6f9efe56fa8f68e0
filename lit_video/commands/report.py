"""The ``report`` command: one static page of everything below some folders."""

import shlex
import sys
from argparse import Namespace

from lit_video.commands.arguments import add_output, add_shared, writing
from lit_video.commands.parser import PROGRAM, Parser
from lit_video.errors import UserError
from lit_video.utils.files import write_bytes
from lit_video.utils.stop_signals import DONE, FAILED
from lit_video.utils.text import plural, printable, to_bytes


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("runs", "runs own/videos/runs -o report.html")
    add_shared(parser, "runs", "--experiments")
    add_output(parser, "FILE", default="report.html")


def run(arguments: Namespace) -> int:
    """Write all results below some folders as one page that opens without a server.

    Tables, statistics, learning curves and confusions. An older page stays as it is if that fails.
    """
    try:
        from lit_video.reports.html.collect import collect
        from lit_video.reports.html.page import render_page
        from lit_video.reports.verdicts import judged, measured, tally
        from lit_video.tables.claims import read_claims
    except ImportError as error:
        raise UserError(f"report: {error.name} is not installed; pip install 'lit_video[report]'") from None
    damaged: list[UserError] = []
    sections = collect(arguments.runs, arguments.experiments, damaged)
    if damaged and not sections:
        raise damaged[0]
    claims = read_claims(arguments.experiments)
    runs = measured([(section.read, section.data) for section in sections])
    found = judged([claim for claim in claims if claim.table.name in runs], runs)
    page = to_bytes(render_page(sections, claims, found, f"{PROGRAM} {shlex.join(arguments.words)}"))
    with writing("--output", arguments.output):
        write_bytes(arguments.output, page)
    number = sum(len(each) for section in sections for each in section.read.results.values())
    held = f"{plural(len(sections), 'table')}, {plural(number, 'run')}"
    print(f"wrote {arguments.output}: {held}, {len(page) / 1e6:.1f} MB", file=sys.stderr)
    if found:
        print(tally(found), file=sys.stderr)
    for line in dict.fromkeys(map(str, damaged)):
        print(f"error: left out: {printable(line)}", file=sys.stderr)
    return FAILED if damaged else DONE
