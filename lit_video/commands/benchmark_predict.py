"""The ``benchmark predict`` command: latency and throughput of a model by the ways to run it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from lit_video.commands.arguments import add_result, print_result
from lit_video.commands.checkpoint import add_checkpoint
from lit_video.commands.parser import Parser, keep_json, positive
from lit_video.errors import UserError
from lit_video.utils.image_size import height_and_width

if TYPE_CHECKING:
    from torch import nn

MODEL: dict[str, Any] = {
    "model": "X-ViT",
    "size": "B",
    "frames": 8,
    "image_size": 224,
}  # what is measured without a checkpoint
DESCRIPTION = """Latency of one clip and throughput of a model: eager, compiled, exported (pt2, AOTInductor), under ONNX
Runtime and in bf16; in rounds of random order."""


def benchmark_predict(argv: list[str]) -> int:
    """Time all ways in one run, and keep what is measured as it is."""
    parser = Parser("benchmark predict", DESCRIPTION)
    add_checkpoint(parser)
    parser.add_argument("--model", help="a scheme of benchmark model (default X-ViT), without --ckpt")
    parser.add_argument("--size", choices=["Ti", "S", "B", "L"], help="of --model (default B)")
    parser.add_argument("--frames", type=positive, help="of --model (default 8)")
    parser.add_argument("--image-size", type=positive, help="of --model (default 224)")
    parser.add_argument("--batch", type=positive, default=8, help="clips of a batch, at least 2 (default 8)")
    parser.add_argument("--repeats", type=positive, default=20, help="rounds (default 20)")
    parser.add_argument("--ways", help="names with semicolons (default: all)")
    add_result(parser, "round")
    arguments = parser.parse_args(argv)
    if arguments.batch < 2:
        parser.error("--batch is at least 2: latency is that of one clip")
    if arguments.ckpt and (given := [name for name in MODEL if getattr(arguments, name) is not None]):
        parser.error(f"--{given[0].replace('_', '-')} is of a model without weights; the checkpoint has its own")
    from lit_video.benchmark.predict_timing import EAGER, WAYS, measure, render
    from lit_video.utils.command_line import recorded_command
    from lit_video.utils.environment import choose_device, provenance

    ways = [EAGER, *(way for way in (arguments.ways or ";".join(WAYS)).split(";") if way != EAGER)]
    if unknown := [way for way in ways if way not in WAYS]:
        raise UserError(f"--ways: no way {unknown[0]!r}; ways: {'; '.join(WAYS)}")
    device = choose_device(arguments.device)
    name, network, clip = _network(arguments)
    facts = provenance(recorded_command(["benchmark", "predict", *argv]), device, "onnxruntime") | {"model": name}
    for measured in measure(network, (arguments.batch, *clip), ways, device, arguments.repeats):
        result = facts | measured
        keep_json(arguments.output, result)
    print_result(arguments, result, render)
    return 0


def _network(arguments: Namespace) -> tuple[str, nn.Module, tuple[int, ...]]:
    """Name, network, and shape of a clip."""
    if arguments.ckpt:
        from lit_video.inference.checkpoints import load_trained_model

        trained = load_trained_model(arguments.ckpt)
        size = height_and_width(trained.settings["image_size"])
        return trained.model.scheme_name, trained.model.network, (3, trained.settings["frames"], *size)
    from lit_video.benchmark.models import Clip, schemes
    from lit_video.network.vit import SIZES

    chosen = {key: getattr(arguments, key) or default for key, default in MODEL.items()}
    side = chosen["image_size"]
    builders = schemes(SIZES[chosen["size"]], Clip(chosen["frames"], side))
    if chosen["model"] not in builders:
        raise UserError(f"--model: no model {chosen['model']!r}; models: {', '.join(builders)}")
    try:
        model = builders[chosen["model"]]()
    except ValueError as error:
        raise UserError(f"--model: {chosen['model']}: {error}") from error
    return f"{model.name}, ViT-{chosen['size']}/16", model.network, (3, model.frames, side, side)
