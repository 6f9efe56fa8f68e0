"""Check data sets and prepare them for training.

These commands go on where they were stopped.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.arguments import add_output, add_shared
from lit_video.commands.parser import Parser
from lit_video.errors import UserError

if TYPE_CHECKING:
    from lit_video.datamodules.inspection import DatasetSummary


def add(parser: Parser) -> None:
    """The commands of the group."""
    parser.add_commands({"check": check, "stats": stats, "prepare": prepare})
    parsers = parser.commands
    for name in ("check", "stats"):
        _add_dataset(parsers[name])
    parsers["check"].add_argument("--decode", action="store_true", help="decode every frame, not only the first")
    parsers["check"].examples("ROOT --dataset ssv2", "ROOT --dataset folder --decode -o manifest.sqlite")
    parsers["stats"].examples("ROOT --dataset folder", "ROOT --dataset ssv2 --json")
    _add_preparation(parsers["prepare"])


def _add_dataset(parser: Parser) -> None:
    parser.add_argument("root", type=Path, metavar="ROOT", help="folder of the data set")
    text = "such as ssv2 or folder; --data.X sets more"
    parser.add_argument("--dataset", required=True, metavar="NAME", help=text)
    add_output(parser, "FILE", otherwise="ROOT/manifest.sqlite, a row per video")
    add_shared(parser, "--json")
    parser.settings = ("--data",)


def _add_preparation(parser: Parser) -> None:
    parser.examples("SRC DST --preset fast", "SRC DST --short-side 128 --crf 18")
    parser.add_argument("src", type=Path, metavar="SRC", help="folder of videos, or of class folders of videos")
    parser.add_argument("dst", type=Path, metavar="DST", help="another folder")
    text = "small (default): GOP 12; fast: a seventh larger, decodes twice as fast; fastest: GOP 1 likewise, 3.5 x"
    parser.add_argument("--preset", choices=("small", "fast", "fastest"), default="small", help=text)
    parser.add_argument("--short-side", type=int, help="pixels (default: 256); smaller videos keep their size")
    parser.add_argument("--gop", type=int, help="frames from one key frame to the next (default: the preset's)")
    parser.add_argument("--crf", type=int, help="quality of x264: 0 loses nothing, 51 is worst (default: 22)")


def check(arguments: Namespace) -> int:
    """Look at every video of every split: what is there, what is missing, what is broken.

    Writes one row per video to a manifest. Exit status 1: something is missing or broken.
    """
    summary = _summarise(arguments, arguments.decode)
    from lit_video.datamodules.inspection import check_report

    print(json.dumps(summary.as_dict(), indent=2) if arguments.json else check_report(summary, arguments.output))
    return 0 if summary.is_complete else 1


def stats(arguments: Namespace) -> int:
    """Print tables of a data set's classes, durations, sizes and frame rates."""
    summary = _summarise(arguments, decode=False)
    from lit_video.datamodules.inspection import stats_report, stats_summary

    print(json.dumps(stats_summary(summary), indent=2) if arguments.json else stats_report(summary))
    return 0 if summary.is_complete else 1


def prepare(arguments: Namespace) -> int:
    """Re-encode every video of SRC for fast training, and list them in DST/videos.csv.

    Videos that cannot be read are listed, and the exit status is 1.
    """
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


def _summarise(arguments: Namespace, decode: bool) -> DatasetSummary:
    from lit_video.datamodules.inspection import open_dataset, summarise
    from lit_video.datamodules.manifest import MANIFEST

    dataset = open_dataset(arguments.dataset, arguments.root, arguments.settings)
    arguments.output = arguments.output or arguments.root / MANIFEST
    return summarise(dataset, arguments.output, decode)
