"""Arguments that several commands share, and functions that convert them for other packages."""

import os
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.runs.results import find_checkpoint
from lit_video.utils.settings import RUN
from lit_video.utils.text import did_you_mean
from lit_video.utils.yaml_files import find_config, find_experiments

if TYPE_CHECKING:
    from lit_video.training.request import Request

# flags that Lightning's command line reads
SETTINGS = ("--data", "--model", "--trainer", *(f"--{name}" for name in RUN["training"] + RUN["machine"]))
SETTINGS_HELP = """\
--data NAME, --data.X VALUE    TemporalSkills, VideoFolder, SomethingV2, ...; root, frames, image_size,
                               batch_size, sampling, augmentation, ...
--model NAME, --model.X VALUE  XViT, TimeSformer, ViViT, Perceiver, ConvNet; size, window, attention,
                               optimization.lr, weights, image_weights, ...
--trainer.X VALUE              max_epochs, devices, precision, callbacks, ... (Lightning's)
--help all                     every setting but a class's; --model.help NAME, --data.help NAME: those of one"""


@contextmanager
def writing(flag: str, path: Path) -> Iterator[None]:
    """Raise a :class:`UserError` with the reason if a file cannot be written in the block."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{flag} {path}: {error.strerror}") from error


def new_file(flag: str, *endings: str) -> Callable[[str], Path]:
    """Return an argument type: a file to write, checked before the work; without ``endings`` any ending is allowed."""

    def checked(text: str) -> Path:
        path = Path(text)
        if endings and path.suffix.lower() not in endings:
            raise ArgumentTypeError(f"{text} ends in none of {', '.join(endings)}")
        if not path.parent.is_dir():
            raise UserError(f"{flag} {path}: no such folder {path.parent}")
        if path.is_dir():
            raise UserError(f"{flag} {path}: is a folder, expected a file")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise UserError(f"{flag} {path}: writing there is not permitted")
        return path

    return checked


def existing(otherwise: str, ending: str = "") -> Callable[[str], Path]:
    """Return an argument type: a path that must exist if it has the ``ending``, checked before the work."""

    def checked(text: str) -> Path:
        if text.endswith(ending) and not os.path.lexists(text):
            beside = glob(os.path.join(os.path.dirname(text), "*"))
            raise UserError(f"{text}: {otherwise}{did_you_mean(text, beside)}")
        return Path(text)

    return checked


def number(limit: int, whole: bool = True) -> Callable[[str], float]:
    """Return an argument type: a whole number from ``limit``, or any number above ``limit``."""

    def checked(text: str) -> float:
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            value = -inf
        if not (limit <= value < inf) or (value == limit and not whole):
            raise ArgumentTypeError(f"is {text}, expected a {'whole number from' if whole else 'number above'} {limit}")
        return value

    return checked


positive, natural, positive_number = number(1), number(0), number(0, whole=False)


def whole_numbers(text: str) -> list[int]:
    """Parse comma-separated whole numbers such as ``0,1,2``; drop repeats."""
    if not all(part.strip().isdecimal() for part in text.split(",")):
        raise ArgumentTypeError(f"is {text}, expected whole numbers with commas, such as 0,1,2")
    return list(dict.fromkeys(int(part) for part in text.split(",")))


def scheme_file(text: str) -> str:
    """Import the attention scheme of a file; return ``MODULE.CLASS``."""
    from lit_video.schemes.loading import import_scheme

    try:
        return import_scheme(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


SHARED: dict[str, dict[str, Any]] = {
    "--batch": dict(type=positive, default=8, metavar="B", help="clips at a time (default: 8)"),
    "--ckpt": dict(
        names=("--ckpt", "--ckpt_path"), type=find_checkpoint, metavar="RUN", help="a run's last.ckpt or its folder"
    ),
    "--clips": dict(type=positive, metavar="N", help="views in time (default: as tested in training)"),
    "--config": dict(
        names=("--config", "-c"),
        action="append",
        default=[],
        type=find_config,
        metavar="FILE",
        help="settings, a later file over an earlier one: a table's YAML or name, then a scale's (scale/X)",
    ),
    "--crops": dict(type=positive, metavar="M", help="views in space of each (likewise)"),
    "--device": dict(choices=["cpu", "cuda"], help="default: cuda where there is one"),
    "--experiments": dict(
        type=find_experiments,
        default="experiments",
        metavar="DIR",
        help="folder of the tables' YAML files (default: experiments, else this package's)",
    ),
    "--fps": dict(type=positive_number, metavar="N", help="frames per second of folders of pictures, each a video"),
    "--jobs": dict(
        type=positive,
        metavar="N",
        help="runs at a time, here each on a GPU or a share of the cores (default: one; of sweep: one per GPU)",
    ),
    "--recipe": dict(help="the scale's recipe where the paper and its code disagree: paper or released"),
    "--reuse": dict(action="store_true", help="share the training that rows or tables have in common"),
    "--row": dict(action="append", metavar="NAMES", help="some rows only, by names or numbers from 0, with commas"),
    "--runs": dict(type=Path, default=Path("runs"), metavar="DIR", help="folder of the runs (default: runs)"),
    "--scheme": dict(type=scheme_file, metavar="FILE.py", help="a run's own attention scheme, whose code is run"),
    "--seeds": dict(
        type=whole_numbers, default="0", metavar="0,1,2", help="each row once per seed (default: %(default)s)"
    ),
    "--workers": dict(type=natural, default=2, metavar="W", help="processes that decode (default: 2)"),
    "runs": dict(
        nargs="*",
        type=Path,
        default=[Path("runs")],
        metavar="RUNS",
        help="a runs folder, or one inside it (default: runs)",
    ),
    "tables": dict(nargs="*", type=find_config, metavar="TABLE", help="YAML or names; --config is for files over them"),
}


def add_shared(parser: Parser, *names: str, **changes: Any) -> None:
    """Add arguments of :data:`SHARED`; ``changes`` override their settings."""
    for name in names:
        settings = SHARED[name] | changes
        parser.add_argument(*settings.pop("names", (name,)), **settings)


def add_table(parser: Parser) -> None:
    """Add the arguments that name a table, its scale and the folder of its runs."""
    add_shared(parser, "tables", "--config", "--recipe", "--runs")


def add_output(
    parser: Parser,
    kind: Literal["FILE", "DIR"],
    default: str | None = None,
    otherwise: str = "",
    endings: Sequence[str] = (),
    required: bool = False,
) -> None:
    """Add ``--output``, ``-o``; ``otherwise`` describes a default that the command computes."""
    text = f"{'folder' if kind == 'DIR' else 'file'} to write" + (f", {', '.join(endings)}" if endings else "")
    text += f" (default: {default or otherwise})" if default or otherwise else ""
    path = new_file("--output", *endings) if kind == "FILE" else Path
    parser.add_argument("--output", "-o", type=path, default=default, required=required, metavar=kind, help=text)


def add_settings(parser: Parser, command: str = "fit", more: Sequence[str] = ()) -> None:
    """Let the command hand on settings; the help of Lightning's ``command`` lists them."""
    parser.settings, parser.lightning = (*SETTINGS, *more), command
    parser.add_argument_group("settings, of the YAML or as flags", SETTINGS_HELP)


def configs(arguments: Namespace) -> list[Path]:
    """Return the table's file that the arguments name, then the files whose settings override it."""
    given: list[Path] = [*arguments.tables, *arguments.config]
    if not given:
        raise UserError("name a table, by its YAML or its name, such as ablation_tw")
    return given


def request_of(arguments: Namespace) -> "Request":
    """Return the rows of a table that the arguments name, with the settings."""
    from lit_video.training.request import build_request

    given = {name: getattr(arguments, name) for name in ("seeds", "runs", "reuse") if name in arguments}
    return build_request(configs(arguments), arguments.row, recipe=arguments.recipe, flags=arguments.settings, **given)
