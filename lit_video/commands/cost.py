"""The ``cost`` command: parameters, multiply-adds and memory of every scheme, beside the papers' figures."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_video.commands.arguments import parse_request
from lit_video.commands.parser import Parser, positive
from lit_video.costs.comparison import compare, render
from lit_video.costs.published import published
from lit_video.errors import UserError
from lit_video.training.request import Request
from lit_video.utils.image_size import ImageSize

if TYPE_CHECKING:
    from lit_video.modules import VideoClassifier

Models = dict[str, tuple["VideoClassifier", tuple[int, ImageSize]]]  # with frames and size of their clips


def cost(argv: list[str]) -> int:
    """Print the costs of the papers' models, or of the rows of one table; draw them with ``--plot``."""
    parser = Parser("cost", "Parameters and multiply-adds of the papers' models, or of a table's rows.")
    parser.add_argument(
        "--config", "-c", action="append", type=Path, help="a table's rows instead (overlays may follow)"
    )
    parser.add_argument("--memory", action="store_true", help="peak of a training step, and the longest clip, instead")
    parser.add_argument("--models", help="of --memory: names with commas (default: all)")
    parser.add_argument("--batch", type=positive, default=1, help="of --memory: clips of a step (default 1)")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw cost against frames and resolution (.png, .pdf, .svg)"
    )
    arguments, settings = parser.parse_known_args(argv)
    if settings and not arguments.config:
        parser.error(f"{settings[0]}: no such flag of cost without --config")
    if arguments.plot:
        from lit_video.utils.figures import check_picture

        check_picture(arguments.plot)
    if arguments.memory:
        return _memory(arguments, settings)
    rows = list(_table_costs(_request(arguments.config, settings)) if arguments.config else _published_costs())
    print(json.dumps(rows, indent=2) if arguments.json else render(rows))
    if arguments.plot:
        from lit_video.costs.curves import draw

        draw(arguments.plot)
    return 0


def _request(configs: list[Path], settings: list[str]) -> Request:
    return parse_request([arg for path in configs for arg in ("--config", str(path))] + settings)


def _published_costs() -> Iterator[dict[str, Any]]:
    for model in published():
        clip = {"frames": model.frames, "image_size": model.image_size, "classes": model.classes, "views": model.views}
        printed = {"params": model.params, "cost": model.cost}
        yield compare(model.source, model.label, clip, model.count(), printed, model.note)


def _table_costs(request: Request) -> Iterator[dict[str, Any]]:
    """Rows of a table at its scale; the figures that the paper prints are for the paper's scale."""
    from lit_video.costs.count import count
    from lit_video.training.run import build_row
    from lit_video.video.batch import outputs

    source = f"{request.table.title} ({request.table.source}), ours at scale {request.table.scale}"
    for row in request.rows:
        built = build_row(request, row, request.seeds[0])
        data = built.datamodule
        clip = {"frames": data.frames, "image_size": data.image_size, "classes": outputs(data.num_classes)}
        clip["views"] = data.test_clips * data.test_crops
        counted = count(built.model, data.frames, data.image_size)
        yield compare(source, row.label, clip, counted, row.published, "")


def _memory(arguments: Namespace, settings: list[str]) -> int:
    """Print each model as it is counted, which takes seconds to a minute each."""
    from lit_video.costs.memory_table import LEGEND, memory_rows, render

    models = _table_models(_request(arguments.config, settings)) if arguments.config else _schemes()
    names = arguments.models.split(",") if arguments.models else list(models)
    if unknown := [name for name in names if name not in models]:
        raise UserError(f"--models: no model {unknown[0]!r}; models: {', '.join(models)}")
    counted: list[dict[str, Any]] = []
    for i, name in enumerate(names):
        print(f"counting {name} ({i + 1} of {len(names)})", file=sys.stderr, flush=True)
        model, clip = models[name]
        try:
            rows = list(memory_rows(name, model, clip, arguments.batch))
        except ValueError as error:  # a clip that the model cannot take
            raise UserError(f"--memory: {name}: {error}; clips are tried in multiples of 8 frames") from error
        counted += rows
        if not arguments.json:
            print(render(rows), end="\n\n", flush=True)
    print(json.dumps(counted, indent=2) if arguments.json else LEGEND)
    return 0


def _schemes() -> Models:
    """Every scheme at ViT-B/16, and the two large clips of TimeSformer."""
    from lit_video.costs.curves import schemes

    models: Models = {name: (model, (8, 224)) for name, model in schemes().items()}
    of_papers = {model.label: model for model in published()}
    for label in ("TimeSformer-HR 16 x 448", "TimeSformer-L 96 x 224"):
        models[label] = of_papers[label].build(), (of_papers[label].frames, of_papers[label].image_size)
    return models


def _table_models(request: Request) -> Models:
    from lit_video.training.run import build_row

    built = {row.name: build_row(request, row, request.seeds[0]) for row in request.rows}
    return {name: (each.model, (each.datamodule.frames, each.datamodule.image_size)) for name, each in built.items()}
