"""Measure the throughput of models."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from lit_video.commands.arguments import add_settings, add_shared, add_table, number, request_of, writing
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.network.cost import Published, compare, count, published, render
from lit_video.tables.results import THROUGHPUT
from lit_video.training.request import Request, Run
from lit_video.utils.files import write_atomically
from lit_video.utils.text import text_table


def cost_arguments(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("", "--config experiments/ablation_tw.yaml --json")
    add_shared(parser, "tables", "--config", "--recipe", "--row", "--json")
    add_settings(parser)


def cost(arguments: Namespace) -> int:
    """Count parameters and multiply-adds of the papers' models, or of a table's rows."""
    names = [f"--{name}" for name in ("row", "recipe") if getattr(arguments, name)]
    named = arguments.tables or arguments.config
    if not named and (given := [*names, *arguments.settings]):
        raise UserError(f"{given[0]}: is about a table; name it too")
    papers = ((model, count_published(model)) for model in published())
    rows = [compare(*each) for each in (_table_costs(request_of(arguments)) if named else papers)]
    print(json.dumps(rows, indent=2) if arguments.json else render(rows))
    return 0


def count_published(model: Published) -> tuple[int, int]:
    """Our parameters of a paper's model, and multiply-adds of one view; on the meta device: shapes without memory."""
    import torch

    from lit_video import modules

    with torch.device("meta"):
        built = getattr(modules, model.family)(model.classes, **model.settings)
    return count(built.network, model.settings["frames"], model.settings["image_size"])


def _table_costs(request: Request) -> Iterator[tuple[Published, tuple[int, int]]]:
    """Rows of a table at its scale, with the paper's figures where it is the paper's, and their counts."""
    from lit_video.training.run import build_row
    from lit_video.utils.classes import outputs

    source = f"{request.table.title} ({request.table.source}), ours at scale {request.table.scale}"
    for row in request.rows:
        built = build_row(Run(request, row, request.seeds[0]))
        data = built.datamodule
        clip = {"frames": data.frames, "image_size": data.test_image_size}
        printed = row.published if request.table.on_papers_data else {}
        clips, crops = map(int, printed.get("views", f"{data.test_clips}x{data.test_crops}").split("x"))
        figures = clips * crops, clip, printed.get("params"), printed.get("cost"), printed.get("note", "")
        model = Published(source, row.label, built.model.scheme_name, outputs(data.num_classes), *figures)
        yield model, count(built.model, data.frames, data.test_image_size)


def benchmark_arguments(parser: Parser) -> None:
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
