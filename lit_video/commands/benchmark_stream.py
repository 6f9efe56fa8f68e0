"""The ``benchmark stream`` command: time and memory of a frame as a video grows. Imports no torch by itself."""

import json

from lit_video.commands.parser import Parser, natural, positive

DESCRIPTION = """Time and memory per frame of a causal X-ViT on a growing video, beside running it on the last clip for
every frame."""


def benchmark_stream(argv: list[str]) -> int:
    """Stream a video of noise and print what its frames cost."""
    parser = Parser("benchmark stream", DESCRIPTION)
    parser.add_argument("--size", choices=["Ti", "S", "B", "L"], default="B")
    parser.add_argument("--frames", type=positive, default=8, help="of a clip, which temporal attention sees")
    parser.add_argument("--length", type=positive, default=64, help="frames of the video (default 64)")
    parser.add_argument("--image-size", type=positive, default=224)
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
    result = measure(setting, choose_device(arguments.device), recorded_command(["benchmark", "stream", *argv]))
    print(json.dumps(result, indent=2) if arguments.json else render(result))
    return 0
