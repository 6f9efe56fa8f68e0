"""The ``reproduce`` command: REPRODUCE.md and docs/results."""

from argparse import Namespace
from pathlib import Path

from lit_video.commands.arguments import add_output, add_shared, writing
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.utils.files import write_atomically


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("", "--check")
    text = "folder of packs or runs (default: benchmarks/results)"
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"), metavar="DIR", help=text)
    add_shared(parser, "--experiments")
    add_output(parser, "FILE", default="REPRODUCE.md")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is not up to date")


def run(arguments: Namespace) -> int:
    """Write REPRODUCE.md and docs/results: which claims hold, and every table that was run."""
    from lit_video.reports.markdown import pages

    if not arguments.results.is_dir():
        raise UserError(f"--results {arguments.results}: no such folder")
    texts = pages(arguments.experiments, arguments.results)
    files = {arguments.output.parent / path if path.name else arguments.output: text for path, text in texts.items()}
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
