"""The ``benchmark data`` command: decoding, transforming and loading clips, beside other libraries."""

import json
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from lit_video.commands.parser import Parser
from lit_video.errors import UserError


def benchmark_data(argv: list[str]) -> int:
    """Measure all libraries in one run and print, save or draw the result; 1 if ours gives wrong pixels."""
    arguments = _arguments(argv)
    if arguments.plot:
        from lit_video.utils.figures import check_picture

        check_picture(arguments.plot)
    result = _measure(arguments, argv)
    from lit_video.benchmark.data_report import render

    print(json.dumps(result, indent=2) if arguments.json else render(result))
    if arguments.plot:
        from lit_video.benchmark.data_plot import draw

        draw(result, arguments.plot)
    return int(any(error["library"] == "lit_video" for error in result["errors"]))


def _measure(arguments: Namespace, argv: list[str]) -> dict[str, Any]:
    """Times of every library on the videos, beside where and how they were taken."""
    import torch

    from lit_video.benchmark.data_timing import time_loaders, video_groups
    from lit_video.benchmark.sample_videos import make_videos
    from lit_video.utils.command_line import recorded_command
    from lit_video.utils.environment import commit, device_name, versions

    workers = _workers(arguments.workers)
    if arguments.make or not arguments.root.exists():
        make_videos(arguments.root, arguments.videos)
    groups = video_groups(arguments.root, arguments.videos)
    torch.set_num_threads(1)
    result: dict[str, Any] = {
        "command": recorded_command(["benchmark", "data", *argv]),
        "commit": commit(),
        "device": device_name(),
        "versions": versions(),
        "gpu_clips": arguments.gpu_clips,
    }
    result["rows"], result["errors"] = _time_decoders(groups, arguments.clips)
    loader_clips = arguments.loader_clips
    result["loaders"] = time_loaders(groups, workers, loader_clips) if loader_clips else []
    return result


def _time_decoders(groups: dict[str, list[Path]], clips: int) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Times of every library on every group of videos and sampling, and the wrong pixels that were seen."""
    from lit_video.benchmark.clip_decoders import clip_decoders
    from lit_video.benchmark.data_timing import SAMPLINGS, time_clips

    rows, errors = [], []
    for name, paths in groups.items():
        for sampling in SAMPLINGS:
            times, wrong = time_clips(clip_decoders(), paths, sampling, clips)
            rows += [{"videos": name, "sampling": sampling} | row for row in times]
            errors += wrong
    return rows, errors


def _arguments(argv: list[str]) -> Namespace:
    parser = Parser("benchmark data", "CPU time per clip and clips/s of loaders; all pixels compared first.")
    parser.add_argument("root", type=Path, metavar="ROOT", help="folder of videos; made if it does not exist")
    parser.add_argument("--make", action="store_true", help="make the videos that ROOT lacks of each kind")
    parser.add_argument("--videos", type=int, default=4, help="of each kind (default 4)")
    parser.add_argument("--clips", type=int, default=4, help="of each video and sampling (default 4)")
    parser.add_argument("--loader-clips", type=int, default=48, help="per loader (default 48; 0: no loaders)")
    parser.add_argument("--workers", help="numbers with commas (default: 0, 1, 2, 4, ... up to the cores)")
    parser.add_argument("--gpu-clips", type=float, default=50, help="clips/s that one GPU trains (default 50)")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result (.png, .svg)")
    arguments = parser.parse_args(argv)
    if min(arguments.videos, arguments.clips) < 1 or arguments.loader_clips < 0 or arguments.gpu_clips <= 0:
        parser.error("--videos, --clips and --gpu-clips are at least 1, --loader-clips at least 0")
    return arguments


def _workers(text: str | None) -> list[int]:
    if text is None:
        cores = len(os.sched_getaffinity(0))
        return [0, *(2**i for i in range(cores.bit_length()) if 2**i <= cores)]
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--workers {text}: expected numbers with commas, such as 0,1,2") from None
