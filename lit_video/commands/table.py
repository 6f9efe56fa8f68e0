"""The ``table`` command: a table from the results that there are. Imports no torch."""

from lit_video.commands.arguments import seed_list, table_parser
from lit_video.tables.damage import Damage
from lit_video.tables.reading import read_table
from lit_video.tables.rendering import render
from lit_video.tables.summary import summary


def print_table(argv: list[str]) -> int:
    """Print a table from the results that there are; 1 if some were left out because they are damaged."""
    parser = table_parser("table")
    parser.add_argument("--format", choices=["text", "json", "markdown", "latex"], default="text")
    parser.add_argument("--pairs", action="store_true")
    if {"-h", "--help"} & set(argv):
        print("usage: python -m lit_video table --config TABLE.yaml [--config SCALE.yaml] [--recipe NAME] [--runs DIR]")
        print("                                 [--seeds 0,1,2] [--format text|json|markdown|latex] [--pairs]")
        return 0
    arguments = parser.parse_args(argv)
    pairs = arguments.pairs or arguments.format == "json"
    table = read_table(arguments.config, arguments.recipe)
    damage = Damage()
    data = summary(table, arguments.runs, seed_list(arguments.seeds), pairs, damage)
    print(render(data, arguments.format, arguments.pairs))
    return damage.report()
