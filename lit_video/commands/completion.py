"""What a shell completes: commands, options, tables, rows, recipes, runs, schemes, weights. Imports no torch."""

import os
import re
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from argcomplete.completers import BaseCompleter, FilesCompleter
from argcomplete.finders import CompletionFinder
from argcomplete.lexers import split_line

from lit_video.commands.checkpoint import run_names
from lit_video.commands.examples import EXAMPLES
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.own_videos.schemes import SCHEMES
from lit_video.tables.reading import read_table, recipe_names
from lit_video.weights.hub import PREFIX, releases

EXPERIMENTS = Path("experiments")
SCALES = EXPERIMENTS / "scale"


class _FoundError(Exception):
    """Ends a command when its parser is known."""


def parser_of(run: Callable[[list[str]], int], words: Sequence[str]) -> Parser | None:
    """The parser that prints the help of a command; ``None`` where something else prints it.

    Args:
        run: runs the command.
        words: its name, in one word or two.
    """
    found: list[Parser] = []

    def keep(parser: Parser) -> NoReturn:
        found.append(parser)
        raise _FoundError

    Parser.show = keep
    try:
        run([*words, "--help"])
    except _FoundError:
        return found[0]
    finally:
        Parser.show = None
    return None


def complete(run: Callable[[list[str]], int]) -> None:
    """Answer the shell, which asks through the environment by argcomplete's script, and end the process.

    Args:
        run: runs a command.
    """
    start = int(os.environ["_ARGCOMPLETE"])
    _, prefix, _, words, _ = split_line(os.environ["COMP_LINE"], int(os.environ["COMP_POINT"]))
    given = words[start:]
    following = _following(given)
    named = next((n for n in (2, 1) if " ".join(given[:n]) in EXAMPLES), 0)
    in_name = bool(following) and not prefix.startswith("-")
    taken = len(given) if in_name else named
    parser = _choice(following) if in_name else parser_of(run, given[:named]) if named else None
    if parser is None:
        return
    os.environ["_ARGCOMPLETE"] = str(start + taken)
    options = [name for action in parser._actions for name in action.option_strings]
    described = [name for name in options if not re.fullmatch(r"--?[\w-]+", name)]  # such as --model.X
    CompletionFinder()(parser, always_complete_options="long", exclude=described, default_completer=_Values())


def _following(given: Sequence[str]) -> list[str]:
    """The words that a command's name may go on with."""
    names = [name.split() for name in EXAMPLES]
    here = len(given)
    return sorted({name[here] for name in names if len(name) > here and name[:here] == list(given)})


def _choice(words: Sequence[str]) -> Parser:
    """Of the next word of a command's name."""
    parser = Parser("", add_help=False)
    parser.add_argument("command", choices=words)
    return parser


class _Values(BaseCompleter):
    """Values of an option; files where nothing is known of it."""

    def __call__(self, *, prefix: str, action: Action, parser: ArgumentParser, parsed_args: Namespace) -> list[str]:
        if action.dest not in COMPLETERS:
            return list(FilesCompleter()(prefix))
        try:
            return COMPLETERS[action.dest](prefix, parsed_args)
        except UserError:  # in the table's file
            return []


def _yaml_files(prefix: str, folder: Path) -> list[str]:
    """Those of a folder, and any other that the prefix may mean."""
    return [*map(str, sorted(folder.glob("*.yaml"))), *FilesCompleter(["yaml"])(prefix)]


def _rows(prefix: str, arguments: Namespace) -> list[str]:
    files = _files(arguments)
    return [row.name for row in read_table(files).rows] if files else []


def _files(arguments: Namespace) -> list[Path]:
    """The tables and scales that the line names already."""
    return [*(getattr(arguments, "tables", None) or []), *(getattr(arguments, "config", None) or [])]


def _schemes(prefix: str, arguments: Namespace) -> list[str]:
    """The last of some names with commas."""
    before = prefix.rpartition(",")[0]
    return [f"{before},{name}" if before else name for name in SCHEMES if name not in before.split(",")]


def _weights(prefix: str, arguments: Namespace) -> list[str]:
    named = [f"{PREFIX}{name}" if prefix.startswith(PREFIX) else name for name in releases()]
    return [*named, *FilesCompleter()(prefix)]


# by the name under which a parser keeps the argument: it means the same in every command
COMPLETERS: dict[str, Callable[[str, Namespace], list[str]]] = {
    "ckpt": lambda prefix, given: [*run_names(), *FilesCompleter(["ckpt"])(prefix)],
    "config": lambda prefix, given: _yaml_files(prefix, SCALES if _files(given) else EXPERIMENTS),
    "names": lambda prefix, given: list(releases()),
    "recipe": lambda prefix, given: recipe_names(_files(given)),
    "row": _rows,
    "scheme": _schemes,
    "schemes": _schemes,
    "tables": lambda prefix, given: _yaml_files(prefix, EXPERIMENTS),
    "weights": _weights,
}
