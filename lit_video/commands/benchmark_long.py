"""The ``benchmark long`` command: time and memory against the frames of a clip. Imports no torch by itself."""

import json
from pathlib import Path

from lit_video.commands.parser import DTYPES, Parser, check_file, keep_json, patches, positive, whole_numbers

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
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="keep the result, after every step (JSON)")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    arguments = parser.parse_args(argv)
    if arguments.output:
        check_file("--output", arguments.output)
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
    print(json.dumps(result, indent=2) if arguments.json else render(result))
    return 0
