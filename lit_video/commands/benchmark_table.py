"""The ``benchmark table`` command: throughput of every row of a table, beside the first row's."""

import json
from typing import Any

from lit_video.commands.arguments import add_row, table_parser
from lit_video.commands.parser import writing
from lit_video.tables.results import THROUGHPUT
from lit_video.training.request import build_request
from lit_video.utils.files import write_atomically


def benchmark_table(argv: list[str]) -> int:
    """Time inference of all rows in turn, print the rates and keep them beside the table's runs."""
    description = "Inference of every row of a table, interleaved; medians and ratios."
    parser = table_parser("benchmark table", description, add_help=True)
    add_row(parser)
    parser.add_argument("--batch", type=int, default=8, help="clips of a batch")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--device", choices=["cpu", "cuda"])
    arguments, flags = parser.parse_known_args(argv)
    if arguments.batch < 1 or arguments.repeats < 2:
        parser.error("--batch is at least 1, --repeats at least 2")
    from lit_video.training.throughput import measure, render
    from lit_video.utils.command_line import recorded_command
    from lit_video.utils.environment import choose_device, provenance

    device, seeds = choose_device(arguments.device), arguments.seeds or [0]
    request = build_request(arguments.config, arguments.row, seeds, arguments.runs, arguments.recipe, flags)
    result: dict[str, Any] = {
        **provenance(recorded_command(["benchmark", "table", *argv]), device),
        "batch": arguments.batch,
        "repeats": arguments.repeats,
        "rows": measure(request, device, arguments.batch, arguments.repeats),
    }
    folder = request.runs / request.table.name / request.table.scale
    with writing("--runs", folder / THROUGHPUT):
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / THROUGHPUT, json.dumps(result, indent=2) + "\n")
    print(render(request, result))
    print(f"kept in {folder / THROUGHPUT}")
    return 0
