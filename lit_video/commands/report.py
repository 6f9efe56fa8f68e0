"""The ``report`` command: one static page of everything below some folders."""

import shlex
import sys
from pathlib import Path

import lit_video
from lit_video.commands.parser import Parser, new_file, writing
from lit_video.errors import UserError
from lit_video.utils.files import write_bytes


def report(argv: list[str]) -> int:
    """Write the page; an older one stays as it is if that fails."""
    parser = Parser("report", "One page, without a server or network, of all results below some folders.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help="a runs folder, or one inside it")
    parser.add_argument("-o", "--output", type=new_file("--output"), default="report.html", help="default: report.html")
    parser.add_argument("--experiments", type=Path, metavar="DIR", help="where the tables' YAML files are")
    arguments = parser.parse_args(argv)
    experiments = _experiments(arguments.experiments)
    try:
        from lit_video.reports.html.collect import collect
        from lit_video.reports.html.page import render_page, vega

        vega()
    except ImportError as error:
        raise UserError(f"report: {error.name} is not installed; pip install 'lit_video[report]'") from None
    sections = collect(arguments.runs, experiments)
    page = render_page(sections, shlex.join(["python", "-m", "lit_video", "report", *argv])).encode()
    with writing("--output", arguments.output):
        write_bytes(arguments.output, page)
    runs = sum(len(each) for section in sections for each in section.read.results.values())
    tables = "1 table" if len(sections) == 1 else f"{len(sections)} tables"
    print(f"wrote {arguments.output}: {tables}, {runs} runs, {len(page) / 1e6:.1f} MB", file=sys.stderr)
    return 0


def _experiments(folder: Path | None) -> Path:
    """The folder given; else ``experiments`` in the working directory; else beside the package."""
    if folder and not folder.is_dir():
        raise UserError(f"--experiments {folder}: no such folder")
    here, beside = Path("experiments"), Path(lit_video.__file__).parents[1] / "experiments"
    return folder or (beside if beside.is_dir() and not here.is_dir() else here)
