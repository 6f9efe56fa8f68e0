"""Arguments that several commands share, and functions that convert them for other packages."""

import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_video.api.arguments import existing_path, refuse_unwritable
from lit_video.commands.parser import Parser
from lit_video.runs.chosen_checkpoint import find_checkpoint
from lit_video.settings.effects import RUN_KEYS, picked
from lit_video.settings.flags import read_flags
from lit_video.utils.files import user_path
from lit_video.utils.yaml_files import find_config, find_experiments

if TYPE_CHECKING:
    from lit_video.inference.predict import Evaluation

# flags that Lightning's command line reads
SETTING_FLAGS = ("--data", "--model", "--trainer", *map("--{}".format, RUN_KEYS["training"] + RUN_KEYS["machine"]))
SETTINGS_HELP = """\
--data NAME, --data.X VALUE    TemporalSkills, VideoFolder, SomethingV2, ...; root, frames, image_size,
                               batch_size, sampling, augmentation, ...
--model NAME, --model.X VALUE  XViT, TimeSformer, ViViT, Perceiver, ConvNet; size, window, attention,
                               optimization.lr, weights, image_weights, ...
--trainer.X VALUE              max_epochs, devices, precision, callbacks, ... (Lightning's)
--help all                     all general settings; --model.help NAME and --data.help NAME list those of a class"""


def new_file(flag: str, *endings: str) -> Callable[[str], Path]:
    """Return an argument type for a file to write, with one of ``endings`` if given; refuse unwritable paths."""
    return lambda text: refuse_unwritable(flag.removeprefix("--"), user_path(text), endings)


def existing(otherwise: str) -> Callable[[str], Path]:
    """Return an argument type for a path that must exist; ``otherwise`` is the message."""
    return lambda text: existing_path(text, otherwise)


def number(limit: int, whole: bool = True) -> Callable[[str], float]:
    """Return an argument type for whole numbers from ``limit``; if not ``whole``, for any number above ``limit``."""
    kind, expected = (int, "whole number from") if whole else (float, "number above")

    def checked(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = -inf
        if not (limit <= value < inf) or (value == limit and not whole):
            raise ArgumentTypeError(f"is {text}, expected a {expected} {limit}")
        return value

    return checked


positive = number(1)
natural_number = number(0)
positive_number = number(0, whole=False)


def whole_numbers(text: str) -> list[int]:
    """Parse comma-separated whole numbers such as ``0,1,2``; drop repeats."""
    if not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", text):
        raise ArgumentTypeError(f"is {text}, expected whole numbers with commas, such as 0,1,2")
    return list(dict.fromkeys(map(int, text.split(","))))


def scheme_file(text: str) -> str:
    """Import the classes of a run from a file; return the file's name."""
    from lit_video.schemes.loading import import_code

    try:
        return import_code(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


YES_OR_NO = {"yes": True, "no": False}
CONFIG_NAMES = ("--config", "-c")
CKPT_NAMES = ("--ckpt", "--ckpt_path")
CONFIG = "settings: YAML or name of a table, then of a scale (scale/X), then your own, which win over rows"
EXPERIMENTS_HELP = "folder of the tables' YAML files (default: experiments, else this package's)"
SHARED: dict[str, dict[str, Any]] = {
    "--batch": dict(type=positive, default=8, metavar="B", help="clips at a time (default: 8)"),
    "--ckpt": dict(names=CKPT_NAMES, type=find_checkpoint, required=True, metavar="RUN", help="a run or its last.ckpt"),
    "--clips": dict(type=positive, metavar="N", help="clips per video (default: the model's test_clips)"),
    "--config": dict(names=CONFIG_NAMES, action="append", default=[], type=find_config, metavar="FILE", help=CONFIG),
    "--crops": dict(type=positive, metavar="M", help="crops per clip (default: the model's test_crops)"),
    "--device": dict(choices=["cpu", "cuda"], help="default: cuda if there is a GPU"),
    "--experiments": dict(type=find_experiments, default="experiments", metavar="DIR", help=EXPERIMENTS_HELP),
    "--fps": dict(type=positive_number, metavar="N", help="frame rate of videos that are folders of pictures"),
    "--jobs": dict(type=positive, metavar="N", help="runs at once (default 1; sweep: 1 per GPU; finetune: 1 per core)"),
    "--overridden": dict(action="store_true", help="also rows run with other settings than the table's, labelled"),
    "--recipe": dict(help="the scale's recipe where the paper and its code disagree: paper or released"),
    "--reuse": dict(action="store_true", help="train rows with equal training settings once, also across tables"),
    "--row": dict(action="append", metavar="NAMES", help="some rows only, by names or numbers from 0, with commas"),
    "--runs": dict(type=user_path, default=Path("runs"), metavar="DIR", help="folder of the runs (default: runs)"),
    "--scheme": dict(type=scheme_file, metavar="FILE.py", help="the run's own scheme, parts, loss, metric: it is run"),
    "--seeds": dict(type=whole_numbers, default="0", metavar="0,1,2", help="once per seed (default: %(default)s)"),
    "--workers": dict(type=natural_number, default=2, metavar="W", help="processes that decode (default: 2)"),
    "runs": dict(
        nargs="*", type=user_path, default=[Path("runs")], metavar="RUNS", help="folders of runs (default: runs)"
    ),
    "tables": dict(nargs="*", type=find_config, metavar="TABLE", help="files or names; --config FILE overrides them"),
}


def add_shared(parser: Parser, *names: str, **changes: Any) -> None:
    """Add arguments of :data:`SHARED`; ``changes`` override their settings."""
    for name in names:
        settings = SHARED[name] | changes
        parser.add_argument(*settings.pop("names", (name,)), **settings)


def add_output(parser: Parser, kind: str, *, endings: Sequence[str] = (), otherwise: str = "", **settings: Any) -> None:
    """Add ``--output``, ``-o``; ``kind`` is ``FILE`` or ``DIR``; ``otherwise`` describes a computed default."""
    path: Callable[[str], Path] = user_path
    text = "folder to write"
    if kind == "FILE":
        path = new_file("--output", *endings)
        text = "file to write"

    text = ", ".join([text, *endings])
    default = settings.get("default", otherwise)
    if default:
        text += f" (default: {default})"
    parser.add_argument("--output", "-o", type=path, metavar=kind, help=text, **settings)


def accept_settings(parser: Parser, command: str = "fit", more: Sequence[str] = ()) -> None:
    """Let the command pass settings on to Lightning; the help of Lightning's ``command`` lists them."""
    parser.settings = (*SETTING_FLAGS, *more)
    parser.lightning = command
    parser.add_argument_group("settings, in the YAML file or as flags", SETTINGS_HELP)


def asked_rows(arguments: Namespace) -> dict[str, Any]:
    """Return the arguments of functions on a table's rows: its file, then the files whose settings override it, ..."""
    return {
        "table": [*arguments.tables, *arguments.config],
        "rows": arguments.row,
        "recipe": arguments.recipe,
        "settings": read_flags(arguments.settings),
        **picked(vars(arguments), ("seeds", "runs")),
    }


def add_own_videos(parser: Parser) -> None:
    """Add the arguments that ``finetune`` and ``compare`` have in common."""
    parser.add_argument(
        "videos", type=user_path, metavar="DIR|TABLE", help="class folders of videos, or a table of them"
    )
    add_output(parser, "DIR", otherwise="own/NAME")
    text = "minutes of training; for compare, minutes of each run (default: 10 on a CPU, 30 on a GPU)"
    parser.add_argument("--minutes", type=positive_number, metavar="N", help=text)
    parser.add_argument("--group", metavar="COLUMN|none", help="column that says which videos belong together")
    parser.add_argument("--split", metavar="COLUMN|none", help="column that says which videos train, or are tested")
    text = "mirror half of the training clips (default: if every class's name is known to have no side)"
    parser.add_argument("--mirror", choices=[*YES_OR_NO], help=text)
    add_shared(parser, "--jobs")
    accept_settings(parser)


def asked_own_videos(arguments: Namespace) -> dict[str, Any]:
    """Return the arguments that the functions ``finetune`` and ``compare`` have in common."""
    options = picked(vars(arguments), ("videos", "output", "minutes", "group", "split", "jobs", "weights"))
    mirror = None if arguments.mirror is None else YES_OR_NO[arguments.mirror]
    return options | {"mirror": mirror, "settings": read_flags(arguments.settings)}


def add_videos(parser: Parser) -> None:
    """Add the arguments that commands with a trained model and videos have in common."""
    video = existing("no such file or folder")
    parser.add_argument(
        "videos", nargs="+", type=video, metavar="VIDEO|FOLDER|TABLE", help="a folder: all videos below it"
    )
    add_shared(parser, "--ckpt", "--scheme", "--clips", "--crops", "--fps", "--device", "--batch", "--workers")


def asked_evaluation(arguments: Namespace) -> "Evaluation":
    """Return the options of an evaluation on videos."""
    from lit_video.inference.predict import Evaluation  # here, because importing torch takes seconds

    options = picked(vars(arguments), ("clips", "crops", "batch", "workers", "device", "fps"))
    return Evaluation(**options, progress=True)
