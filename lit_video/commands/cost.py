"""The ``cost`` command: parameters and multiply-adds of every scheme, beside the papers' figures."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_video.commands.arguments import add_settings, add_shared, request_of
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.network.cost import Published, compare, count, published, render
from lit_video.training.request import Request

if TYPE_CHECKING:
    from lit_video.modules import VideoClassifier

SIZES = (224, 320, 448, 576)  # even numbers of patches, which L+G needs
FRAMES = (8, 32, 64, 96)


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--plot cost.svg", "--config experiments/ablation_tw.yaml --json")
    add_shared(parser, "--config", "--recipe", "--row", "--json")
    text = "draw cost against frames and resolution (.png, .pdf, .svg)"
    parser.add_argument("--plot", type=Path, metavar="FILE", help=text)
    add_settings(parser)


def run(arguments: Namespace) -> int:
    """Count parameters and multiply-adds of the papers' models, or of a table's rows."""
    names = [f"--{name}" for name in ("row", "recipe") if getattr(arguments, name)]
    if not arguments.config and (given := [*names, *arguments.settings]):
        raise UserError(f"{given[0]}: is about a table; give --config too")
    if arguments.plot:
        from lit_video.utils.figures import check_picture

        check_picture(arguments.plot)
    rows = list(_table_costs(request_of(arguments)) if arguments.config else _published_costs())
    print(json.dumps(rows, indent=2) if arguments.json else render(rows))
    if arguments.plot:
        _draw(arguments.plot)
    return 0


def build(model: Published) -> VideoClassifier:
    """A paper's model on the meta device: shapes without memory."""
    import torch

    from lit_video import modules

    settings = model.settings | {"frames": model.frames, "image_size": model.image_size}
    with torch.device("meta"):
        built: VideoClassifier = getattr(modules, model.family)(model.classes, **settings)
    return built


def count_published(model: Published) -> tuple[int, int]:
    """Our parameters of a paper's model, and multiply-adds of one view."""
    return count(build(model).network, model.frames, model.image_size)


def _published_costs() -> Iterator[dict[str, Any]]:
    for model in published():
        clip = {"frames": model.frames, "image_size": model.image_size, "classes": model.classes, "views": model.views}
        printed = {"params": model.params, "cost": model.cost}
        yield compare(model.source, model.label, clip, count_published(model), printed, model.note)


def _table_costs(request: Request) -> Iterator[dict[str, Any]]:
    """Rows of a table at its scale; the figures that the paper prints are for the paper's scale."""
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


def schemes() -> dict[str, VideoClassifier]:
    """Every scheme at ViT-B/16, with tubelets of one frame, on the meta device."""
    import torch

    from lit_video.modules import Perceiver, TimeSformer, ViViT, XViT

    with torch.device("meta"):
        return {
            "space (S)": TimeSformer(400, attention="space"),
            "joint (ST; ViViT 1)": TimeSformer(400, attention="joint"),
            "divided (T+S)": TimeSformer(400, attention="divided"),
            "local-global (L+G)": TimeSformer(400, attention="local_global"),
            "axial (T+W+H)": TimeSformer(400, attention="axial"),
            "X-ViT mixing": XViT(400),
            "exact local window": XViT(400, exact=True),
            "ViViT 2": ViViT(400, frames=8, tubelet=1, variant=2),
            "ViViT 3": ViViT(400, frames=8, tubelet=1, variant=3),
            "ViViT 4": ViViT(400, frames=8, tubelet=1, variant=4),
            "Perceiver, 256 latents": Perceiver(400),
        }


def _draw(path: Path) -> None:
    """Draw the multiply-adds of every scheme against image side and frames (TimeSformer, Fig. 3): half a minute."""
    from lit_video.utils.figures import plt, save
    from lit_video.utils.parallel import with_progress

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
    every = schemes()
    for i, (name, model) in enumerate(with_progress(every.items(), len(every), "counting schemes")):
        style = {"label": name, "color": f"C{i % 10}", "marker": "osD^v<>PX*h"[i], "linestyle": "-" if i < 5 else "--"}
        axes[0].plot(SIZES, [count(model.network, 8, size)[1] / 1e12 for size in SIZES], **style)
        axes[1].plot(FRAMES, [count(model.network, frames, 224)[1] / 1e12 for frames in FRAMES], **style)
    axes[0].set(xlabel="image size (pixels), 8 frames", ylabel="multiply-adds per view ($10^{12}$)", xticks=SIZES)
    axes[1].set(xlabel="frames of 224 pixels", xticks=FRAMES)
    for axis in axes:
        axis.set_yscale("log")
        axis.grid(alpha=0.3, which="both")
    figure.suptitle("Cost of the attention schemes, ViT-B/16 (compare TimeSformer, Fig. 3)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    save(figure, path)
