"""The ``benchmark long`` command: time and memory against the frames of a clip. Imports no torch by itself."""

from lit_video.commands.arguments import add_result, print_result
from lit_video.commands.parser import DTYPES, Parser, keep_json, patches, positive, whole_numbers

DESCRIPTION = """X-ViT, and TimeSformer's T+S at two sizes (-L, -HR), on clips of more and more frames: time and memory,
and with which power of the frames they grow. Rounds in random order; medians."""


def benchmark_long(argv: list[str]) -> int:
    """Measure all lengths in one run, and keep what is measured as it is."""
    parser = Parser("benchmark long", DESCRIPTION)
    parser.add_argument("--size", choices=["Ti", "S", "B", "L"], default="B")
    parser.add_argument("--image-size", type=patches, default=224, help="a multiple of 16")
    parser.add_argument("--frames", type=whole_numbers, default="8,16,32,64,96,128", help="two numbers or more")
    parser.add_argument("--batch", type=positive, default=1, help="clips of a step (default 1)")
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32", help="bf16 by autocast")
    parser.add_argument("--checkpointing", choices=["none", "attention", "block"], default="none")
    parser.add_argument("--repeats", type=positive, default=5, help="rounds (default 5)")
    add_result(parser, "step")
    arguments = parser.parse_args(argv)
    frames = tuple(sorted(arguments.frames))
    if len(frames) < 2 or frames[0] < 1:
        parser.error("--frames: expected two numbers or more above 0, such as 8,16,32")
    from lit_video.benchmark.long_timing import Setting, measure, render
    from lit_video.utils.command_line import recorded_command
    from lit_video.utils.environment import choose_device

    setting = Setting(
        arguments.size,
        arguments.image_size,
        frames,
        arguments.batch,
        DTYPES[arguments.dtype],
        arguments.checkpointing,
        arguments.repeats,
    )
    command = recorded_command(["benchmark", "long", *argv])
    for result in measure(setting, choose_device(arguments.device), command):
        keep_json(arguments.output, result)
    print_result(arguments, result, render)
    return 0
