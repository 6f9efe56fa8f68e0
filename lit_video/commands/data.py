"""``data check``, ``prepare`` and ``stats``. Imports no torch before there is work to do."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.utils.stop_signals import INTERRUPTED

if TYPE_CHECKING:
    from lit_video.datamodules.inspection import DatasetSummary

HELP = """\
usage: python -m lit_video data COMMAND ...

  check ROOT --dataset NAME    look at every video of every split; write ROOT/manifest.sqlite
      [--decode] [-o FILE] [--data.X=Y] [--json]
  stats ROOT --dataset NAME    videos per class, durations, sizes, rates
      [-o FILE] [--data.X=Y] [--json]
  prepare SRC DST              re-encode every video for training; write DST/videos.csv
      [--preset small|fast|fastest] [--short-side 256] [--gop 12] [--crf 22]
  COMMAND --help               all options of a command

All go on where they were stopped. Exit status 1: something is missing or broken; 2: a mistake in the command.
"""


def data(argv: list[str]) -> int:
    """Run one of the commands; returns the exit status."""
    if not argv or argv[0] in {"-h", "--help"}:
        print(HELP, end="")
        return 0
    commands = {"check": check, "prepare": prepare, "stats": stats}
    if argv[0] not in commands:
        raise UserError(f"no command {argv[0]!r} of data; commands: {', '.join(commands)} (see data --help)")
    try:
        return commands[argv[0]](argv[1:])
    except KeyboardInterrupt:
        print("interrupted; the same command again goes on where this one was")
        return INTERRUPTED
    except SystemExit as stop:  # --help
        return int(stop.code or 0)


def check(argv: list[str]) -> int:
    """Print what is there, what is missing and what is broken."""
    parser = _parser("check", "Look at every video of every split, and write one row per video to a manifest.")
    parser.add_argument("--decode", action="store_true", help="decode every frame, not only the first")
    arguments, summary = _summarise(parser, argv)
    from lit_video.datamodules.inspection import check_report

    print(json.dumps(summary.as_dict(), indent=2) if arguments.json else check_report(summary, arguments.output))
    return 0 if summary.is_complete else 1


def stats(argv: list[str]) -> int:
    """Print tables of classes, durations, sizes and rates."""
    parser = _parser("stats", "Tables of a data set's classes, durations, sizes and frame rates.")
    parser.set_defaults(decode=False)
    arguments, summary = _summarise(parser, argv)
    from lit_video.datamodules.inspection import stats_report, stats_summary

    print(json.dumps(stats_summary(summary), indent=2) if arguments.json else stats_report(summary))
    return 0 if summary.is_complete else 1


def prepare(argv: list[str]) -> int:
    """Re-encode every video of a folder into another; list what cannot be read."""
    parser = Parser("data prepare", "Re-encode every video of SRC for fast training, and list them in DST/videos.csv.")
    parser.add_argument("src", type=Path, metavar="SRC", help="folder of videos, or of class folders of videos")
    parser.add_argument("dst", type=Path, metavar="DST", help="another folder")
    parser.add_argument(
        "--preset",
        choices=("small", "fast", "fastest"),
        default="small",
        help="small (default): GOP 12; fast: a seventh larger, decodes twice as fast; fastest: GOP 1 likewise, 3.5 x",
    )
    parser.add_argument("--short-side", type=int, help="pixels (default 256); smaller videos keep their size")
    parser.add_argument("--gop", type=int, help="frames from one key frame to the next (default: the preset's)")
    parser.add_argument("--crf", type=int, help="quality of x264: 0 loses nothing, 51 is worst (default 22)")
    arguments = parser.parse_args(argv)
    from lit_video.datamodules.preparation import PRESETS, prepare_folder

    given = {name: getattr(arguments, name) for name in ("short_side", "gop", "crf")}
    with _flags_of_values():
        encoding = replace(PRESETS[arguments.preset], **{k: v for k, v in given.items() if v is not None})
    return prepare_folder(arguments.src, arguments.dst, encoding)


@contextmanager
def _flags_of_values() -> Iterator[None]:
    """Name the flag instead of the setting: "short_side is 0, expected ..."."""
    try:
        yield
    except ValueError as error:
        name, _, rest = str(error).partition(" ")
        raise UserError(f"--{name.replace('_', '-')}: {rest}") from None


def _dataset_parser(command: str, description: str) -> Parser:
    parser = Parser(f"data {command}", description)
    parser.add_argument("root", type=Path, metavar="ROOT", help="folder of the data set")
    parser.add_argument("--dataset", required=True, metavar="NAME", help="such as ssv2 or folder; --data.X sets more")
    return parser


def _known(parser: Parser, argv: list[str]) -> tuple[Namespace, list[str]]:
    """Arguments, and settings of the data set."""
    arguments, settings = parser.parse_known_args(parser.joined(argv))
    if wrong := [flag for flag in settings if not flag.startswith("--data.")]:
        parser.error(f"unrecognized arguments: {' '.join(wrong)}")
    return arguments, settings


def _parser(command: str, description: str) -> Parser:
    parser = _dataset_parser(command, description)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the manifest (default: ROOT/manifest.sqlite)"
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")
    return parser


def _summarise(parser: Parser, argv: list[str]) -> tuple[Namespace, DatasetSummary]:
    arguments, settings = _known(parser, argv)
    from lit_video.datamodules.inspection import open_dataset, summarise
    from lit_video.datamodules.manifest import MANIFEST

    dataset = open_dataset(arguments.dataset, arguments.root, settings)
    arguments.output = arguments.output or arguments.root / MANIFEST
    return arguments, summarise(dataset, arguments.output, arguments.decode)
