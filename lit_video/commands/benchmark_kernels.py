"""The ``benchmark kernels`` command: steps of attention under every kernel. Imports no torch by itself."""

from __future__ import annotations

from functools import partial

from lit_video.commands.arguments import add_result, print_result
from lit_video.commands.parser import DTYPES, Parser, keep_json, patches, positive
from lit_video.errors import UserError


def benchmark_kernels(argv: list[str]) -> int:
    """Time the steps and print them; -o keeps what is done after each."""
    parser = Parser("benchmark kernels", "Forward and backward of every step of attention under every kernel; ratios.")
    parser.add_argument("--steps", help="names with commas (default: all)")
    parser.add_argument("--size", choices=["Ti", "S", "B", "L"], default="B")
    parser.add_argument("--frames", type=positive, default=8)
    parser.add_argument("--image-size", type=patches, default=224, help="a multiple of 16")
    parser.add_argument("--batch", type=positive, default=1, help="clips of a batch")
    parser.add_argument("--repeats", type=positive, default=5)
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32", help="bf16 by autocast")
    add_result(parser, "step")
    arguments = parser.parse_args(argv)
    from lit_video.attention import Grid
    from lit_video.benchmark.attention_steps import attention_steps
    from lit_video.benchmark.kernel_timing import Setting, measure, render
    from lit_video.network.vit import SIZES
    from lit_video.utils.command_line import recorded_command
    from lit_video.utils.environment import choose_device

    names = arguments.steps.split(",") if arguments.steps else None
    side = arguments.image_size // 16
    known = list(attention_steps(SIZES["Ti"], Grid(arguments.frames, side, side)))
    for name in names or []:
        if name not in known:
            raise UserError(f"--steps: no step {name!r} at this size; steps: {', '.join(known)}")
    given = vars(arguments) | {"dtype": DTYPES[arguments.dtype]}
    setting = Setting(**{key: given[key] for key in Setting.__dataclass_fields__})
    command = recorded_command(["benchmark", "kernels", *argv])
    result = measure(setting, names, choose_device(arguments.device), command, partial(keep_json, arguments.output))
    print_result(arguments, result, render)
    return 0
