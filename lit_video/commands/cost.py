"""The ``cost`` command: parameters and multiply-adds of every scheme, beside the papers' figures."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator

from lit_video.commands.arguments import add_settings, add_shared, request_of
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.network.cost import Published, compare, count, published, render
from lit_video.training.request import Request, Run


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("", "--config experiments/ablation_tw.yaml --json")
    add_shared(parser, "tables", "--config", "--recipe", "--row", "--json")
    add_settings(parser)


def run(arguments: Namespace) -> int:
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
