"""The ``table`` command: prints a table of the finished runs."""

import sys
from argparse import Namespace

from lit_video.commands.arguments import add_shared, add_table, configs, new_file, writing
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from lit_video.utils.files import write_bytes


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples(
        "--config experiments/ablation_tw.yaml --pairs",
        "--config experiments/skills.yaml --runs benchmarks/results --plot skills.png",
    )
    add_table(parser)
    add_shared(parser, "--seeds", default=None, help="each row once per seed (default: all that there are)")
    parser.add_argument("--format", choices=["text", "json", "markdown"], default="text", help="default: text")
    parser.add_argument("--pairs", action="store_true", help="the differences of all rows, with their intervals")
    text = "accuracy by skill, drawn"
    parser.add_argument("--plot", type=new_file("--plot", ".png", ".svg"), metavar="FILE", help=text)


def run(arguments: Namespace) -> int:
    """Print a table as it stands, beside the paper's numbers."""
    from lit_video.reports.verdicts import of_table
    from lit_video.tables.rendering import measured_groups, render
    from lit_video.tables.summary import read_runs, summarise

    pairs = arguments.pairs or arguments.format == "json"
    table = read_table(configs(arguments), arguments.recipe)
    read = read_runs(table, arguments.runs, arguments.seeds)
    data = summarise(read, pairs)
    print(render(data, arguments.format, arguments.pairs))
    if arguments.format in ("text", "markdown") and (lines := of_table(read, data)):
        print("", *lines, sep="\n")
    if path := arguments.plot:
        from lit_video.inference.result_pictures import heat_map
        from lit_video.utils.figures import content_of

        groups = measured_groups(data["rows"])
        if groups is None:
            raise UserError(f"--plot {path}: no run of {data['table']} was tested on groups of classes, such as skills")
        figure = heat_map(groups, f"{data['title']}, scale {data['scale']}")
        with writing("--plot", path):
            write_bytes(path, content_of(figure, path.suffix[1:].lower(), bbox_inches="tight"))
        print(f"wrote {path}", file=sys.stderr)
    return 0
