"""Measure the throughput of models."""

import json
from argparse import Namespace
from typing import Any

from lit_video.commands.arguments import add_settings, add_shared, add_table, number, request_of, writing
from lit_video.commands.parser import Parser
from lit_video.tables.results import THROUGHPUT
from lit_video.utils.files import write_atomically
from lit_video.utils.text import text_table


def add(parser: Parser) -> None:
    """Add the commands of the group."""
    parser.add_commands({"table": table})
    parser = parser.commands["table"]
    parser.examples("--config experiments/ablation_tw.yaml", "--config experiments/xvit_throughput.yaml --batch 16")
    add_table(parser)
    add_shared(parser, "--row", "--seeds", "--batch", "--device")
    parser.add_argument("--repeats", type=number(2), default=9, metavar="N", help="rounds (default: 9)")
    add_settings(parser)


def table(arguments: Namespace) -> int:
    """Measure the clips per second of every row of a table.

    Times inference of all rows in turn, prints medians and ratios to the first row, keeps them beside the table's runs.
    """
    request = request_of(arguments)
    from lit_video.tables.rendering import throughput_table
    from lit_video.training.throughput import measure
    from lit_video.utils.command_line import recorded_command
    from lit_video.utils.environment import choose_device, provenance

    device = choose_device(arguments.device)
    result: dict[str, Any] = {
        **provenance(recorded_command(arguments.words), device),
        "batch": arguments.batch,
        "repeats": arguments.repeats,
        "rows": measure(request, device, arguments.batch, arguments.repeats),
    }
    folder = request.folder / request.table.name / request.table.scale
    with writing("--runs", folder / THROUGHPUT):
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / THROUGHPUT, json.dumps(result, indent=2) + "\n")
    print(text_table(*throughput_table(request.table, result)))
    print(f"kept in {folder / THROUGHPUT}")
    return 0
