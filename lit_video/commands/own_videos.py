"""The ``finetune`` and ``compare`` commands: from a folder of videos to a model, or to schemes side by side."""

import shlex
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.fit import fit
from lit_video.commands.parser import Parser, positive_number, writing
from lit_video.commands.report import report
from lit_video.errors import UserError
from lit_video.reports.card import model_card
from lit_video.tables.reading import check_folder_name, read_table
from lit_video.tables.rendering import pairs_table
from lit_video.tables.summary import summary
from lit_video.utils.files import write_atomically
from lit_video.utils.stop_signals import DONE
from lit_video.utils.text import text_table
from lit_video.utils.yaml_files import read_yaml

if TYPE_CHECKING:
    from lit_video.own_videos.plan import Equal


def finetune(argv: list[str]) -> int:
    """Plan one model, train and test it, write the report; the same command again goes on."""
    parser = _parser("finetune", "From a folder of your own videos to a trained and tested model.")
    parser.add_argument("--weights", metavar="NAME|FILE", help="published weights, or a run of yours, to start from")
    parser.add_argument("--scheme", help="attention scheme of a model from scratch (default: xvit)")
    parser.add_argument("--seed", default="0", help="default: 0")
    arguments, flags = parser.parse_known_args(parser.joined(argv))
    file = _file(arguments, "")
    names = [arguments.scheme] if arguments.scheme else None
    _plan(parser, arguments, file, argv, names)
    status = _run(file, ["--seeds", arguments.seed, *flags])
    if status == DONE:
        _report(file)
        run = next(_runs(file).glob(f"{file.stem}/*/*/seed{arguments.seed}"))
        card = file.with_name("README.md")
        write_atomically(card, model_card(run))
        print(f"wrote {card}, the model card", flush=True)
        print(f"predict with it: python -m lit_video predict --ckpt {run} VIDEO", flush=True)
    return status


def compare(argv: list[str]) -> int:
    """Plan a table of schemes, train and test its rows, print them in pairs, write the report."""
    parser = _parser("compare", "Attention schemes side by side on your own videos.")
    parser.add_argument("--schemes", required=True, metavar="A,B", help="xvit,divided,joint,vivit2, ...")
    parser.add_argument("--seeds", type=int, default=3, help="how often each row is trained (default: 3)")
    parser.add_argument(
        "--equal", choices=["epochs", "compute"], help="what schemes have in common: epochs (default), or multiply-adds"
    )
    arguments, flags = parser.parse_known_args(parser.joined(argv))
    file = _file(arguments, "_compare")
    _plan(parser, arguments, file, argv, arguments.schemes.split(","))
    seeds = ",".join(map(str, range(arguments.seeds)))
    status = _run(file, ["--seeds", seeds, *flags])
    if status == DONE:
        table = read_table([file])
        print(text_table(*pairs_table(summary(table, _runs(file)))), flush=True)
        _report(file)
    return status


def _parser(command: str, description: str) -> Parser:
    parser = Parser(command, description)
    parser.add_argument("videos", type=Path, metavar="DIR", help="class folders of videos, or a table of them")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="for all that is made (default: own/NAME)")
    parser.add_argument("--minutes", type=positive_number, metavar="N", help="of training of a run (10 on a CPU)")
    parser.add_argument("--group", metavar="COLUMN|none", help="of the table: which videos belong together")
    return parser


def _file(arguments: Namespace, ending: str) -> Path:
    """The experiment's; its name is that of the table."""
    name = arguments.videos.resolve().name
    check_folder_name(arguments.videos, "the folder's name ", name)
    folder: Path = arguments.output or Path("own") / name
    return folder / f"{name}{ending}.yaml"


def _runs(file: Path) -> Path:
    return file.parent / "runs"


def _plan(parser: Parser, arguments: Namespace, file: Path, argv: Sequence[str], schemes: Sequence[str] | None) -> None:
    """Write the experiment, if it is not there."""
    weights = getattr(arguments, "weights", None)
    if file.exists():
        _check_same_plan(parser, arguments, file)
        print(f"going on with {file} as it is; delete it to plan anew", flush=True)
        return
    from lit_video.own_videos.plan import PlanOptions, plan
    from lit_video.own_videos.schemes import schemes_named

    chosen = schemes_named(",".join(schemes)) if schemes else None
    with writing("--output", file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
    made_by = f"{parser.prog} {shlex.join(argv)}"
    equal: Equal = getattr(arguments, "equal", None) or "epochs"
    options = PlanOptions(arguments.videos, file, made_by, chosen, weights, arguments.minutes, arguments.group, equal)
    plan(options, partial(print, flush=True))


def _check_same_plan(parser: Parser, arguments: Namespace, file: Path) -> None:
    """Refuse what was planned otherwise: the plan's first line holds the command that made it."""
    given = str(arguments.videos.resolve())
    if (root := read_yaml(file).get("data", {}).get("init_args", {}).get("root", given)) != given:
        raise UserError(f"{given}: {file} is planned already, for the videos in {root}; give another --output")
    first = file.read_text(encoding="utf-8").partition("\n")[0]
    words = shlex.split(first.partition(parser.prog)[2])
    planned = vars(parser.parse_known_args(parser.joined(words))[0]) if words else {}
    for name in ("minutes", "group", "equal", "weights", "scheme", "schemes"):
        value = getattr(arguments, name, None)
        if value is not None and value != planned.get(name):
            raise UserError(
                f"--{name} {value}: {file} is planned already, with {planned.get(name) or 'another'}; "
                "delete it to plan anew, or give another --output"
            )


def _run(file: Path, flags: Sequence[str]) -> int:
    return fit(["--config", str(file), "--runs", str(_runs(file)), *flags])


def _report(file: Path) -> None:
    page = file.with_suffix(".html")
    report([str(_runs(file) / file.stem), "-o", str(page)])
