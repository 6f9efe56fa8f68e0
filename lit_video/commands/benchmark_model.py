"""The ``benchmark model`` command: time and memory of every scheme, beside other packages' models."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_video.commands.arguments import add_result, print_result
from lit_video.commands.parser import DTYPES, Parser, keep_json, positive
from lit_video.errors import UserError
from lit_video.utils.exit_status import DONE, FAILED

if TYPE_CHECKING:
    import torch

DESCRIPTION = """Forward and training step of every scheme and of other packages' models, in rounds of random order;
medians and ratios."""


def benchmark_model(argv: list[str]) -> int:
    """Time all models in one run and print, save or draw the result; 1 if one fails."""
    arguments = _arguments(argv)
    from lit_video.benchmark.model_report import render
    from lit_video.utils.environment import choose_device
    from lit_video.utils.figures import check_picture

    device = choose_device(arguments.device)
    if arguments.plot:
        check_picture(arguments.plot)
    result = _measure(device, arguments, argv)
    print_result(arguments, result, render)
    if arguments.plot:
        from lit_video.benchmark.plot import draw

        draw(result, arguments.plot)
    failed = [row for row in result["rows"] if row.get("left_out", "").startswith("failed")]
    for row in failed:
        print(f"{row['model']}: {row['left_out']}", file=sys.stderr)
    return FAILED if failed else DONE


def _measure(device: torch.device, arguments: Namespace, argv: list[str]) -> dict[str, Any]:
    """Times and memory of the chosen models, beside where and how they were taken; kept after every round."""
    import torch

    from lit_video.benchmark.line_up import build
    from lit_video.benchmark.model_timing import Bench, line_fit
    from lit_video.benchmark.models import BenchmarkModel, Clip, LeftOut, schemes
    from lit_video.network.vit import SIZES
    from lit_video.utils.command_line import recorded_command

    if arguments.size not in SIZES:
        raise UserError(f"--size: is {arguments.size}, expected one of {', '.join(SIZES)}")
    bench = Bench(device, getattr(torch, DTYPES[arguments.dtype]), arguments.batch, arguments.repeats)
    size = SIZES[arguments.size]
    facts = bench.facts(recorded_command(["benchmark", "model", *argv]))
    facts |= {"size": arguments.size, "image_size": arguments.image_size}
    if arguments.scaling:
        clips = [Clip(arguments.frames * factor, arguments.image_size) for factor in (1, 2, 4)]
        try:
            built = [schemes(size, clip)["X-ViT"]() for clip in clips]
        except ValueError as error:
            raise UserError(f"--scaling: {error}") from error
        models: list[BenchmarkModel | LeftOut]
        models = [replace(model, name=f"X-ViT, {model.frames} frames", against="") for model in built]
    else:
        names = arguments.models.split(",") if arguments.models else None
        models = build(size, Clip(arguments.frames, arguments.image_size), names, arguments.compile)

    def keep(result: dict[str, Any]) -> None:
        keep_json(arguments.output, facts | result)

    result = facts | bench.run(models, arguments.image_size, keep)
    if arguments.scaling:
        result["fit"] = line_fit(result["rows"])
        keep(result)
    return result


def _arguments(argv: list[str]) -> Namespace:
    parser = Parser("benchmark model", DESCRIPTION)
    parser.add_argument("--models", help="names with commas (default: all)")
    parser.add_argument("--size", default="B", metavar="Ti|S|B|L|H", help="of the ViT (default: B)")
    parser.add_argument("--frames", type=positive, default=8)
    parser.add_argument("--image-size", type=positive, default=224)
    parser.add_argument("--batch", type=positive, default=1, help="clips of a batch")
    parser.add_argument("--repeats", type=positive, default=5, help="rounds (default: 5)")
    parser.add_argument("--dtype", choices=list(DTYPES), default="fp32", help="bf16 and fp16 by autocast")
    parser.add_argument("--scaling", action="store_true", help="X-ViT at 1, 2 and 4 times the frames instead")
    parser.add_argument(
        "--compile", choices=["off", "block", "full"], default="off", help="beside each of ours, a twin"
    )
    add_result(parser, "round")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result (.png, .svg)")
    arguments = parser.parse_args(argv)
    if arguments.scaling and (arguments.models or arguments.compile != "off"):
        parser.error("--scaling measures X-ViT as it is; leave out --models and --compile")
    return arguments
