"""Check data sets and prepare them for training; both commands resume if they were stopped."""

from argparse import Namespace
from dataclasses import replace

from lit_video.commands.arguments import add_output, existing, number
from lit_video.commands.names import refuse_unknown_class
from lit_video.commands.parser import Parser
from lit_video.utils.files import user_path


def data_arguments(parser: Parser) -> None:
    """Add the commands of the group."""
    parser.add_commands({"check": check, "prepare": prepare})
    checking, preparation = parser.commands["check"], parser.commands["prepare"]
    checking.examples("ROOT --dataset SomethingV2", "ROOT --dataset VideoFolder --decode -o manifest.sqlite")
    checking.add_argument("--decode", action="store_true", help="decode every frame, not only the first")
    checking.add_argument("root", type=existing("no such folder"), metavar="ROOT", help="folder of the data set")
    checking.add_argument("--dataset", required=True, metavar="NAME", help="class of the data set, such as VideoFolder")
    add_output(checking, "FILE", otherwise="ROOT/manifest.sqlite, a row per video")
    checking.settings = ("--data",)
    preparation.examples("SRC DST --preset fast", "SRC DST --short-side 128")
    text = "folder of videos or of class folders"
    preparation.add_argument("src", type=existing("no such folder"), metavar="SRC", help=text)
    preparation.add_argument("dst", type=user_path, metavar="DST", help="another folder")
    text = "small (default): GOP 12; fast: a seventh larger, 1.7 x as fast; fastest: GOP 1, 2.8 to 3.8 x as large"
    preparation.add_argument("--preset", choices=("small", "fast", "fastest"), default="small", help=text)
    preparation.add_argument("--short-side", type=number(16), default=256, help="maximum in pixels (default: 256)")


def check(arguments: Namespace) -> int:
    """Look at every video of every split: what is there, what is missing, what is broken.

    Writes one row per video to a manifest. Exit status 1: something is missing or broken.
    """
    refuse_unknown_class("dataset", arguments.dataset)
    from lit_video.datamodules.inspection import check_report, find_faults, open_dataset
    from lit_video.datamodules.manifest import MANIFEST

    data = open_dataset(arguments.dataset, arguments.root, arguments.settings)
    file = arguments.output or arguments.root / MANIFEST
    faults = find_faults(data, file, arguments.decode)
    print(check_report(data, faults, file))
    return int(any(any(found.values()) for found in faults.values()))


def prepare(arguments: Namespace) -> int:
    """Re-encode every video of SRC for fast training, copy its annotations, and list the videos in DST/videos.csv.

    Videos that cannot be read are listed, and the exit status is 1.
    """
    from lit_video.datamodules.preparation import PRESETS, prepare_folder

    preset = replace(PRESETS[arguments.preset], short_side=arguments.short_side)
    return prepare_folder(arguments.src, arguments.dst, preset)
