"""The ``benchmark data`` command: decoding, formats, and loading of clips, beside other libraries."""

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.parser import Parser, natural, new_file, positive, positive_number, whole_numbers
from lit_video.errors import UserError
from lit_video.utils.exit_status import INTERRUPTED
from lit_video.utils.processes import usable_cores

if TYPE_CHECKING:
    from lit_video.benchmark.data_report import DataReport

FORMATS = "source,small,fast,fastest,shards"


def benchmark_data(argv: list[str]) -> int:
    """Measure all libraries and formats in one run; print a row as it is measured; 1 if ours gives wrong pixels."""
    arguments = _arguments(argv)
    if arguments.plot:
        from lit_video.utils.figures import check_picture

        check_picture(arguments.plot)
    report, stopped = _measure(arguments, argv)
    if arguments.json:
        print(json.dumps(report.result, indent=2))
    if arguments.plot:
        from lit_video.benchmark.data_plot import draw

        draw(report.result, arguments.plot)
    if stopped:
        print(f"interrupted; what is measured is {'in ' + str(arguments.output) if arguments.output else 'above'}")
        return INTERRUPTED
    return int(any(error["library"] == "lit_video" for error in report.result["errors"]))


def _measure(arguments: Namespace, argv: list[str]) -> tuple["DataReport", bool]:
    """Times of every library on the videos, beside where and how they were taken; and whether Ctrl-C ended it."""
    import torch

    from lit_video.benchmark.data_report import DataReport
    from lit_video.benchmark.data_timing import video_groups
    from lit_video.benchmark.sample_videos import make_videos
    from lit_video.utils.command_line import recorded_command
    from lit_video.utils.environment import provenance

    workers, formats = arguments.workers or _up_to_the_cores(), _formats(arguments.formats)
    if arguments.make or not arguments.root.exists():
        make_videos(arguments.root, arguments.videos)
    groups = video_groups(arguments.root, arguments.videos)
    torch.set_num_threads(1)
    facts = provenance(recorded_command(["benchmark", "data", *argv]), "cpu")
    facts |= {"clips_per_second": arguments.clips_per_second, "augmentation": arguments.augmentation}
    report = DataReport(facts, sys.stderr if arguments.json else sys.stdout, arguments.output)
    try:
        for name, paths in groups.items() if arguments.clips else ():
            _time_formats(report, name, paths, formats, arguments)
        for name, paths in groups.items() if arguments.clips else ():
            _time_decoders(report, name, paths, arguments.clips)
        for name, paths in groups.items() if arguments.loader_clips else ():
            _time_loaders(report, name, paths, workers, arguments.loader_clips)
    except KeyboardInterrupt:
        return report, True
    return report, False


def _time_formats(report: "DataReport", name: str, paths: list[Path], formats: list[str], arguments: Namespace) -> None:
    """Times, bytes and loss of each format of a group of videos."""
    from lit_video.benchmark.clip_decoders import SIDE
    from lit_video.benchmark.data_formats import time_formats
    from lit_video.video.decoding import DecodeError
    from lit_video.video.recipes import recipe

    folder = arguments.root.with_name(f"{arguments.root.name}-formats") / name
    try:
        augmentation = recipe(arguments.augmentation)
    except ValueError as error:
        raise UserError(f"--{error}") from None
    try:
        for row in time_formats(paths, formats, folder, arguments.clips, augmentation, SIDE) if formats else ():
            report.add("formats", {"videos": name} | row)
    except DecodeError as error:
        raise UserError(f"ROOT: {error}; take it away, or --formats none") from error
    except OSError as error:
        reason = f"cannot write {folder.parent} ({error.strerror})"
        raise UserError(f"ROOT: {reason}; give a link to ROOT from elsewhere, or --formats none") from error


def _time_decoders(report: "DataReport", name: str, paths: list[Path], clips: int) -> None:
    """Times of every library on a group of videos and each sampling, and the wrong pixels that were seen."""
    from lit_video.benchmark.clip_decoders import clip_decoders
    from lit_video.benchmark.data_timing import SAMPLINGS, time_clips

    for sampling in SAMPLINGS:
        times, wrong = time_clips(clip_decoders(), paths, sampling, clips)
        for row in times:
            report.add("rows", {"videos": name, "sampling": sampling} | row)
        for error in wrong:
            report.add("errors", dict(error))


def _time_loaders(report: "DataReport", name: str, paths: list[Path], workers: list[int], clips: int) -> None:
    from lit_video.benchmark.data_loaders import time_loaders

    for row in time_loaders(paths, workers, clips):
        report.add("loaders", {"videos": name} | row)


def _arguments(argv: list[str]) -> Namespace:
    parser = Parser("benchmark data", "CPU time per clip, formats, and clips/s of loaders; all pixels compared first.")
    parser.add_argument("root", type=Path, metavar="ROOT", help="folder of videos; made if it does not exist")
    parser.add_argument("--make", action="store_true", help="make the videos that ROOT lacks of each kind")
    parser.add_argument("--videos", type=positive, default=4, help="of each kind (default 4)")
    parser.add_argument("--clips", type=natural, default=4, help="of each video (default 4; 0: loaders only)")
    parser.add_argument("--formats", default=FORMATS, help=f"with commas (default {FORMATS}), in ROOT-formats; or none")
    parser.add_argument("--augmentation", default="none", help="a recipe, for the formats' clips (default none)")
    parser.add_argument("--loader-clips", type=natural, default=48, help="per loader (default 48; 0: no loaders)")
    parser.add_argument(
        "--workers", type=whole_numbers, metavar="0,1,2", help="default: 0, 1, 2, 4, ... up to the cores"
    )
    parser.add_argument(
        "--clips-per-second", type=positive_number, default=1000, help="to count the cores for (default 1000)"
    )
    parser.add_argument("-o", "--output", type=new_file("-o"), metavar="FILE", help="JSON, written after every row")
    parser.add_argument("--json", action="store_true", help="print as JSON, rows on the error stream")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result (.png, .svg)")
    return parser.parse_args(argv)


def _formats(text: str) -> list[str]:
    chosen, known = [] if text == "none" else text.split(","), FORMATS.split(",")
    if unknown := [name for name in chosen if name not in known]:
        raise UserError(f"--formats {text}: no format {unknown[0]!r}; there are {', '.join(known)}")
    return chosen


def _up_to_the_cores() -> list[int]:
    cores = usable_cores()
    return [0, *(2**i for i in range(cores.bit_length()) if 2**i <= cores)]
