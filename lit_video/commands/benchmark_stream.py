"""The ``benchmark stream`` command: time and memory of a frame as a video grows. Imports no torch by itself."""

from lit_video.commands.arguments import print_result
from lit_video.commands.parser import Parser, natural, patches, positive
from lit_video.errors import OptionError

DESCRIPTION = """Time and memory per frame of a causal X-ViT on a growing video, beside running it on the last clip for
every frame."""


def benchmark_stream(argv: list[str]) -> int:
    """Stream a video of noise and print what its frames cost."""
    parser = Parser("benchmark stream", DESCRIPTION)
    parser.add_argument("--size", choices=["Ti", "S", "B", "L"], default="B")
    parser.add_argument("--frames", type=positive, default=8, help="of a clip, which temporal attention sees")
    parser.add_argument("--length", type=positive, default=64, help="frames of the video (default 64)")
    parser.add_argument("--image-size", type=patches, default=224, help="a multiple of 16")
    parser.add_argument("--window", type=natural, default=1, help="t_w")
    parser.add_argument("--ta-layers", type=natural, default=1, help="0 is averaging")
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--json", action="store_true", help="print as JSON")
    arguments = parser.parse_args(argv)
    from lit_video.benchmark.stream_timing import SECTIONS, Setting, measure, render
    from lit_video.utils.command_line import recorded_command
    from lit_video.utils.environment import choose_device

    if arguments.length < SECTIONS * arguments.frames:
        parser.error(f"--length is at least {SECTIONS} clips, {SECTIONS * arguments.frames} frames")
    given = vars(arguments)
    setting = Setting(**{key: given[key] for key in Setting.__dataclass_fields__})
    try:
        network = setting.network()
    except ValueError as error:
        raise OptionError("window", error) from error
    command = recorded_command(["benchmark", "stream", *argv])
    result = measure(setting, network, choose_device(arguments.device), command)
    print_result(arguments, result, render)
    return 0
