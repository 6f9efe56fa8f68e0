"""Completion in the shell by argcomplete: commands, flags, tables, rows, recipes, runs, schemes, weights."""

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from argcomplete import autocomplete
from argcomplete.completers import BaseCompleter, FilesCompleter

from lit_video.commands.checkpoint import run_names
from lit_video.commands.parser import tree
from lit_video.errors import UserError
from lit_video.own_videos.schemes import SCHEMES
from lit_video.tables.reading import read_table, recipe_names
from lit_video.weights.hub import PREFIX, releases

EXPERIMENTS = Path("experiments")
SCALES = EXPERIMENTS / "scale"


def complete() -> None:
    """Answer the shell, which asks through the environment by argcomplete's script, and end the process."""
    autocomplete(tree(), always_complete_options="long", default_completer=_Values())


class _Values(BaseCompleter):
    """Values of an option; files where nothing is known of it."""

    def __call__(self, *, prefix: str, action: Action, parser: ArgumentParser, parsed_args: Namespace) -> list[str]:
        if action.dest not in COMPLETERS:
            return list(FilesCompleter()(prefix))
        try:
            return COMPLETERS[action.dest](prefix, parsed_args)
        except UserError:  # in the table's file
            return []


def _files(given: Namespace) -> list[Path]:
    """The tables and scales that the line names already."""
    return [*(getattr(given, "tables", None) or []), *(getattr(given, "config", None) or [])]


def _yaml(prefix: str, folder: Path) -> list[str]:
    return [*map(str, sorted(folder.glob("*.yaml"))), *FilesCompleter(["yaml"])(prefix)]


def _schemes(prefix: str, given: Namespace) -> list[str]:
    """The last of some names with commas."""
    before = prefix.rpartition(",")[0]
    return [f"{before},{name}" if before else name for name in SCHEMES if name not in before.split(",")]


def _weights(prefix: str, given: Namespace) -> list[str]:
    named = [f"{PREFIX}{name}" if prefix.startswith(PREFIX) else name for name in releases()]
    return [*named, *FilesCompleter()(prefix)]


# by the name under which a parser keeps the argument: it means the same in every command
COMPLETERS: dict[str, Callable[[str, Namespace], list[str]]] = {
    "ckpt": lambda prefix, given: [*run_names(), *FilesCompleter(["ckpt"])(prefix)],
    "config": lambda prefix, given: _yaml(prefix, SCALES if _files(given) else EXPERIMENTS),
    "names": lambda prefix, given: list(releases()),
    "recipe": lambda prefix, given: recipe_names(_files(given)),
    "row": lambda prefix, given: [row.name for row in read_table(files).rows] if (files := _files(given)) else [],
    "scheme": _schemes,
    "schemes": _schemes,
    "tables": lambda prefix, given: _yaml(prefix, EXPERIMENTS),
    "weights": _weights,
}
