"""The ``benchmark model`` command: time and memory of every scheme, beside transformers' models."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_video.commands.parser import Parser
from lit_video.errors import UserError

if TYPE_CHECKING:
    import torch

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


def benchmark_model(argv: list[str]) -> int:
    """Time all schemes in one run and print, save or draw the result."""
    arguments = _arguments(argv)
    from lit_video.benchmark.model_report import render
    from lit_video.utils.environment import choose_device
    from lit_video.utils.figures import check_picture

    device = choose_device(arguments.device)
    if arguments.plot:
        check_picture(arguments.plot)
    result = _measure(device, arguments, argv)
    print(json.dumps(result, indent=2) if arguments.json else render(result))
    if arguments.plot:
        from lit_video.benchmark.plot import draw

        draw(result, arguments.plot)
    return 0


def _measure(device: torch.device, arguments: Namespace, argv: list[str]) -> dict[str, Any]:
    """Times and memory of the chosen models, beside where and how they were taken."""
    import torch

    from lit_video.benchmark.model_timing import Bench, line_fit
    from lit_video.benchmark.models import BenchmarkModel, Clip, build
    from lit_video.network.vit import SIZES

    if arguments.size not in SIZES:
        raise UserError(f"--size: is {arguments.size}, expected one of {', '.join(SIZES)}")
    bench = Bench(device, getattr(torch, DTYPES[arguments.dtype]), arguments.batch, arguments.repeats)
    size = SIZES[arguments.size]
    result = bench.facts(" ".join(argv)) | {"size": arguments.size, "image_size": arguments.image_size}
    if arguments.scaling:
        clips = [Clip(arguments.frames * factor, arguments.image_size) for factor in (1, 2, 4)]
        models = [build(size, clip, ["X-ViT"])[0] for clip in clips]
        models = [BenchmarkModel(f"X-ViT, {c.frames} frames", c.network, c.frames) for c in models]
    else:
        names = arguments.models.split(",") if arguments.models else None
        models = build(size, Clip(arguments.frames, arguments.image_size), names)
    result["rows"] = bench.run(models, arguments.image_size)
    if arguments.scaling:
        result["fit"] = line_fit(result["rows"])
    return result


def _arguments(argv: list[str]) -> Namespace:
    parser = Parser("benchmark model", "Forward and training step of every scheme, interleaved; medians and ratios.")
    parser.add_argument("--models", help="names with commas (default: all)")
    parser.add_argument("--size", default="B", metavar="Ti|S|B|L|H", help="of the ViT (default: B)")
    parser.add_argument("--frames", type=int, default=8)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=1, help="clips of a batch")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dtype", choices=list(DTYPES), default="fp32", help="bf16 and fp16 by autocast")
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--scaling", action="store_true", help="X-ViT at 1, 2 and 4 times the frames instead")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result (.png, .svg)")
    arguments = parser.parse_args(argv)
    if min(arguments.frames, arguments.image_size, arguments.batch, arguments.repeats) < 1:
        parser.error("--frames, --image-size, --batch and --repeats are at least 1")
    return arguments
