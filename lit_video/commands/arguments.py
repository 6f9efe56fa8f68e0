"""Flags that are the arguments of a function, how each kind of argument is spelled, and flags of several commands."""

import re
from argparse import ArgumentTypeError, BooleanOptionalAction, Namespace
from ast import literal_eval
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from lit_video.api.arguments import existing_path, refuse_unwritable
from lit_video.commands.parser import Parser
from lit_video.commands.signatures import NO_DEFAULT, Argument, flag_help, signature
from lit_video.settings.effects import RUN_KEYS
from lit_video.settings.flags import read_flags
from lit_video.utils.arguments import Count, Positive, Whole, fits, words_for
from lit_video.utils.files import user_path
from lit_video.utils.video_files import refuse_no_video
from lit_video.utils.yaml_files import find_config

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
    return lambda text: refuse_unwritable(flag, user_path(text), endings)


def existing(otherwise: str) -> Callable[[str], Path]:
    """Return an argument type for a path that must exist; ``otherwise`` is the message."""
    return lambda text: existing_path(text, otherwise)


def number(kind: Any) -> Callable[[str], float]:
    """Return an argument type for numbers of a kind, such as ``Count``."""
    convert = get_args(kind)[0] if get_args(kind) else kind

    def checked(text: str) -> float:
        try:
            value = convert(text)
        except ValueError:
            value = None
        if not fits(value, kind):
            raise ArgumentTypeError(f"is {text}, expected {words_for(kind)}")
        return value

    return checked


def numbers(kind: Any) -> Callable[[str], Any]:
    """Return an argument type for a number, or several with commas."""
    read = number(kind)

    def one_or_several(text: str) -> float | list[float]:
        several = [read(part) for part in text.split(",")]
        return several if len(several) > 1 else several[0]

    return one_or_several


def whole_numbers(text: str) -> list[int]:
    """Parse comma-separated whole numbers such as ``0,1,2``; drop repeats."""
    if not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", text):
        raise ArgumentTypeError(f"is {text}, expected whole numbers with commas, such as 0,1,2")
    return list(dict.fromkeys(map(int, text.split(","))))


def checkpoint(text: str) -> Path:
    """Return the checkpoint of a run that is named by its folder or file."""
    from lit_video.runs.chosen_checkpoint import find_checkpoint  # here, because a command's help needs none of it

    return find_checkpoint(text)


def refuse_bad_inputs(videos: Iterable[str | Path], arguments: Namespace) -> None:
    """Refuse paths of no video, and a file of ``--ckpt`` that is no checkpoint, before torch is imported."""
    from lit_video.weights.integrity import refuse_no_checkpoint  # here, because a command's help needs none of it

    refuse_no_video(videos, arguments.fps)
    refuse_no_checkpoint(arguments.ckpt)


def scheme_file(text: str) -> str:
    """Import the classes of a run from a file; return the file's name."""
    from lit_video.schemes.own_classes import import_code

    try:
        return import_code(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


# how argparse reads an argument of a type, as a function's signature spells it
FLAG_TYPES: dict[str, dict[str, Any]] = {
    "File": dict(type=user_path, metavar="PATH"),
    "File | Sequence[File]": dict(type=user_path, nargs="*", metavar="PATH"),
    "Files": dict(type=find_config, nargs="*", metavar="TABLE"),
    "Rows": dict(action="append", metavar="NAMES"),
    "Iterable[int]": dict(type=whole_numbers, metavar="0,1,2"),
    "Count": dict(type=number(Count), metavar="N"),
    "Whole": dict(type=number(Whole), metavar="N"),
    "Positive": dict(type=number(Positive), metavar="N"),
    "Annotated[int, Range": dict(type=number(int), metavar="N"),  # the function checks the range
    "int | Sequence[int]": dict(type=numbers(int), metavar="N|H,W"),
    "float | Sequence[float]": dict(type=numbers(float), metavar="X|R,G,B"),
}

# arguments that are spelled otherwise in every command that has them
CONFIG = dict(names=("--config", "-c"), type=find_config, action="append", nargs=None, metavar="FILE")
SPELLED: dict[str, dict[str, Any]] = {
    "ckpt": dict(names=("--ckpt",), type=checkpoint, metavar="RUN", help="a run's folder or checkpoint"),
    "configs": CONFIG,
    "overlays": CONFIG,
    "rows": dict(names=("--row",), help="some rows only, by names or numbers from 0, with commas (default: all)"),
    "output": dict(names=("--output", "-o")),
    "device": dict(names=("--device",)),
}


def derive(parser: Parser, function: str, *, without: Sequence[str] = (), **spelled: dict[str, Any]) -> None:
    """Add the arguments of a function of the API: what a call may give by position is positional, all else a flag.

    Args:
        parser: parser of the command.
        function: name in ``lit_video``.
        without: arguments that the command sets in another way.
        spelled: by argument, settings of ``add_argument`` that are not those of its type; ``names`` are its flags.
    """
    for name, argument in signature(function).arguments.items():
        if name in without:
            continue
        if argument.kind == "Settings":
            accept_settings(parser)
            continue

        settings = _of_kind(argument) | SPELLED.get(name, {}) | spelled.get(name, {})
        names = settings.pop("names", (f"--{name.replace('_', '-')}",) if argument.by_name else ())
        if names:
            settings["dest"] = name
        if argument.default is not NO_DEFAULT:
            # argparse appends to a list
            is_list = settings.get("action") == "append" and argument.default is not None
            settings["default"] = list(argument.default) if is_list else argument.default
        elif names:
            settings["required"] = True
        parser.add_argument(*(names or (name,)), **settings)


def _of_kind(argument: Argument) -> dict[str, Any]:
    """Return the settings of argparse's ``add_argument`` for the type of an argument, with its words as the help."""
    text = flag_help(argument.text).replace("%", "%%")
    if argument.kind == "bool":
        return dict(action=BooleanOptionalAction if argument.may_be_none else "store_true", help=text)

    if argument.default not in (NO_DEFAULT, None, ()):
        of_several = isinstance(argument.default, tuple)
        text += f" (default: {','.join(map(str, argument.default)) if of_several else argument.default})"
    if argument.kind.startswith("Literal["):
        return dict(choices=literal_eval(argument.kind.removeprefix("Literal")), help=text)
    # other kinds are texts for a command: a name, where Python takes an object
    return FLAG_TYPES.get(argument.kind.partition("(")[0], {}) | dict(help=text)


def call_arguments(arguments: Namespace, function: str) -> dict[str, Any]:
    """Return the arguments of a function of the API that a command line gives."""
    values = {name: getattr(arguments, name) for name in signature(function).arguments if name in arguments}
    if "settings" in values:
        values["settings"] = read_flags(arguments.settings)
    return values


def accept_settings(parser: Parser, command: str = "fit", more: Sequence[str] = ()) -> None:
    """Let the command pass settings on to Lightning; the help of Lightning's ``command`` lists them."""
    parser.settings = (*SETTING_FLAGS, *more)
    parser.lightning = command
    parser.add_argument_group("settings, in the YAML file or as flags", SETTINGS_HELP)


def add_own_code(parser: Parser) -> None:
    """Add the flag for code of the user's own, on which a trained model depends."""
    text = "the run's own scheme, parts, loss, metric: it is run"
    parser.add_argument("--scheme", type=scheme_file, metavar="FILE.py", help=text)


VIDEO_PATHS = dict(
    type=existing("no such file or folder"),
    nargs="+",
    metavar="VIDEO|FOLDER|TABLE",
    help="a folder: all videos below it",
)
