"""The ``table`` command: a table from the results that there are."""

import sys
from pathlib import Path
from typing import Any

from lit_video.commands.arguments import table_parser
from lit_video.commands.parser import new_file, writing
from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from lit_video.tables.rendering import measured_groups, render
from lit_video.tables.summary import summary
from lit_video.utils.files import write_bytes


def print_table(argv: list[str]) -> int:
    """Print a table from the results that there are."""
    parser = table_parser("table", "A table as it stands, beside the paper's numbers.", add_help=True)
    parser.add_argument("--format", choices=["text", "json", "markdown", "latex"], default="text", help="default: text")
    parser.add_argument("--pairs", action="store_true", help="the differences of all rows, with their intervals")
    parser.add_argument(
        "--plot", type=new_file("--plot", ".png", ".svg"), metavar="FILE", help="accuracy by skill, drawn"
    )
    arguments = parser.parse_args(argv)
    pairs = arguments.pairs or arguments.format == "json"
    table = read_table(arguments.config, arguments.recipe)
    data = summary(table, arguments.runs, arguments.seeds, pairs)
    print(render(data, arguments.format, arguments.pairs))
    if arguments.plot:
        _plot(data, arguments.plot)
    return 0


def _plot(data: dict[str, Any], path: Path) -> None:
    """Draw the accuracy of rows by group of classes.

    Raises:
        UserError: no row has any, or the file cannot be written.
    """
    groups = measured_groups(data["rows"])
    if groups is None:
        raise UserError(f"--plot {path}: no run of {data['table']} was tested on groups of classes, such as skills")
    from lit_video.inference.result_pictures import heat_map
    from lit_video.utils.figures import content_of

    figure = heat_map(groups, f"{data['title']}, scale {data['scale']}")
    with writing("--plot", path):
        write_bytes(path, content_of(figure, path.suffix[1:].lower(), bbox_inches="tight"))
    print(f"wrote {path}", file=sys.stderr)
