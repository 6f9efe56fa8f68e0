"""The commands ``table``, ``report``, ``pack``, ``reproduce`` and ``dashboard``: results of finished runs."""

import shlex
import sys
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

from lit_video.commands.arguments import add_output, add_shared, configs, existing, new_file, writing
from lit_video.commands.parser import PROGRAM, Parser
from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from lit_video.utils.files import user_path, write_atomically, write_bytes
from lit_video.utils.stop_signals import DONE, FAILED
from lit_video.utils.text import plural, printable, to_bytes
from lit_video.utils.wandb_login import has_key, project
from lit_video.utils.yaml_files import find_experiments


def table_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("ablation_tw --pairs", "skills --runs benchmarks/results --plot skills.png")
    add_shared(parser, "tables", "--config", "--recipe")
    add_shared(parser, "--runs", type=existing("no such folder"))
    add_shared(parser, "--seeds", default=None, help="seeds of each row (default: all that were run)")
    parser.add_argument("--format", choices=["text", "json", "markdown"], default="text", help="default: text")
    parser.add_argument("--pairs", action="store_true", help="the differences of all rows, with their intervals")
    add_shared(parser, "--overridden")
    picture = new_file("--plot", ".png", ".svg")
    parser.add_argument("--plot", type=picture, metavar="FILE", help="direction by skill (or top-1 by group), drawn")


def table(arguments: Namespace) -> int:
    """Print a table as it stands, beside the paper's numbers."""
    from lit_video.reports.verdicts import of_table
    from lit_video.tables.rendering import measured_groups, render
    from lit_video.tables.summary import read_runs

    table = read_table(configs(arguments), arguments.recipe)
    read = read_runs(table, arguments.runs, arguments.seeds, arguments.overridden)
    data = read.data
    print(render(data, arguments.format, arguments.pairs))
    if arguments.format in ("text", "markdown") and (lines := of_table(read)):
        print("", *lines, sep="\n")
    if path := arguments.plot:
        from lit_video.inference.result_pictures import heat_map
        from lit_video.utils.figures import content_of

        groups = measured_groups(data.rows)
        if not groups:
            raise UserError(f"--plot {path}: no run of {data.table} was tested on groups of classes, such as skills")
        figure = heat_map(groups[0], f"{data.title}, scale {data.scale}: {groups[0].kind} in %")
        with writing("--plot", path):
            write_bytes(path, content_of(figure, path.suffix[1:].lower(), bbox_inches="tight"))
        print(f"wrote {path}", file=sys.stderr)
    return 0


def report_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("runs", "runs own/videos/runs -o report.html")
    add_shared(parser, "runs", "--experiments", "--overridden")
    add_output(parser, "FILE", default="report.html")


def report(arguments: Namespace) -> int:
    """Write all results below some folders as one page that opens without a server.

    The page has tables, statistics, learning curves and confusions. If it cannot be made, an older page is kept.
    """
    try:
        from lit_video.reports.html.collect import collect
        from lit_video.reports.html.page import render_page
        from lit_video.reports.verdicts import judged, tally
        from lit_video.tables.claims import read_claims
    except ImportError as error:
        raise UserError(f"report: {error.name} is not installed; pip install 'lit_video[report]'") from None
    damaged: list[UserError] = []
    sections = collect(arguments.runs, arguments.experiments, damaged, arguments.overridden)
    if damaged and not sections:
        raise damaged[0]
    claims = read_claims(arguments.experiments)
    names = {section.table.name for section in sections}
    found = judged([claim for claim in claims if claim.table.name in names], sections)
    page = to_bytes(render_page(sections, claims, found, f"{PROGRAM} {shlex.join(arguments.words)}"))
    with writing("--output", arguments.output):
        write_bytes(arguments.output, page)
    number = sum(len(section.finished) for section in sections)
    held = f"{plural(len(sections), 'table')}, {plural(number, 'run')}"
    print(f"wrote {arguments.output}: {held}, {len(page) / 1e6:.1f} MB", file=sys.stderr)
    if found:
        print(tally(found), file=sys.stderr)
    for line in dict.fromkeys(map(str, damaged)):
        print(f"error: left out: {printable(line)}", file=sys.stderr)
    return FAILED if damaged else DONE


def pack_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("runs -o results", "runs/ablation_tw -o benchmarks/results")
    add_shared(parser, "runs")
    add_output(parser, "DIR", required=True)


def pack(arguments: Namespace) -> int:
    """Write finished runs into one file per table, without logits and checkpoints.

    The commands table, report and reproduce read these files like runs.
    """
    from lit_video.runs.packing import pack_runs

    with writing("--output", arguments.output):
        for path, runs in pack_runs(arguments.runs, arguments.output).items():
            print(f"{path}: {runs} runs, {path.stat().st_size / 1e3:.0f} kB")
    return 0


def reproduce_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--check")
    text = "folder of packs or runs (default: benchmarks/results)"
    parser.add_argument("--results", type=user_path, default=Path("benchmarks/results"), metavar="DIR", help=text)
    add_shared(parser, "--experiments")
    add_output(parser, "FILE", default="REPRODUCE.md")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is not up to date")


def reproduce(arguments: Namespace) -> int:
    """Write REPRODUCE.md and docs/results: which claims hold, and every table that was run."""
    from lit_video.reports.markdown import pages

    if not arguments.results.is_dir():
        raise UserError(f"--results {arguments.results}: no such folder")
    texts = pages(arguments.experiments, arguments.results)
    files = {arguments.output: texts.pop(Path())}
    for path, text in texts.items():
        files[arguments.output.parent / path] = text
    if arguments.check:
        old = [str(path) for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text]
        print(f"{', '.join(old)}: out of date; run lit_video reproduce" if old else "up to date")
        return int(bool(old))
    for path, text in files.items():
        with writing("--output", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text)
    print(f"wrote {', '.join(map(str, files))}")
    return 0


def dashboard_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--entity TEAM experiments/ablation_tw.yaml own/videos/videos_compare.yaml")
    add_shared(parser, "tables", help="default: all tables in experiments")
    add_shared(parser, "--config", "--recipe")
    parser.add_argument("--entity", help="user or team at W&B (default: yours)")
    parser.add_argument("--project", default=project(), help="project at W&B (default: $WANDB_PROJECT, else lit_video)")


def dashboard(arguments: Namespace) -> int:
    """Save a workspace and a report at W&B that compare the rows of tables."""
    paths = arguments.tables or sorted(find_experiments().glob("*.yaml"))
    tables = [read_table([path, *arguments.config], arguments.recipe) for path in paths]
    if find_spec("wandb_workspaces") is None:
        raise UserError("dashboard needs wandb-workspaces: pip install 'lit_video[dashboard]' (here: '.[dashboard]')")
    if not has_key():
        raise UserError("no W&B API key: run wandb login or set WANDB_API_KEY")
    from lit_video.reports import wandb

    wandb.save(tables, arguments.entity, arguments.project)
    return 0
