"""The tree of commands: argparse with a parser for each; a mistake is one line."""

import argparse
import inspect
import os
import re
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from lit_video import __version__
from lit_video.commands.values import refuse_wrong_numbers
from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean

# modules beside this one, in the order of the help: each has ``run(arguments)``, whose docstring is the command's help,
# and ``add(parser)`` for its examples and arguments; a group has ``add`` alone, for the commands in it
COMMANDS = (
    *("finetune", "compare", "fit", "sweep", "table", "report", "pack", "profile", "test", "predict"),
    *("attention", "embed", "cost", "export", "weights", "benchmark", "reproduce", "dashboard", "data", "doctor"),
)
PROGRAM = "lit_video"


# other programs' names of settings, and ours
MEANT = {
    "epochs": "--trainer.max_epochs",
    "steps": "--trainer.max_steps",
    "gpus": "--trainer.devices; of sweep, GPUs of each run are --gpus-per-run",
    "devices": "--trainer.devices",
    "precision": "--trainer.precision",
    "lr": "--model.optimization.lr",
    "batch_size": "--data.batch_size",
    "dry_run": "--print_config of fit, --dry-run of sweep",
}


class Parser(argparse.ArgumentParser):
    """A command's parser, or that of a group of commands.

    Attributes:
        commands: the parsers below this one.
        settings: names of flags that the command hands on, with all that begin with them and a dot.
        show_settings: prints the help of all settings, or of a class, for the flags that ask for it.
    """

    def __init__(self, prog: str, description: str, **more: Any) -> None:
        plain = partial(argparse.RawDescriptionHelpFormatter, max_help_position=32)
        super().__init__(prog=prog, description=description, formatter_class=plain, allow_abbrev=False, **more)
        self.commands: dict[str, Parser] = {}
        self.settings: tuple[str, ...] = ()
        self.show_settings: Callable[[Sequence[str], Namespace], int] | None = None

    def examples(self, *lines: str) -> None:
        """End the help with examples of the arguments."""
        self.epilog = "\n".join(["examples:", *(f"  {self.prog} {line}".rstrip() for line in lines)])

    def add_commands(self, commands: Mapping[str, Callable[[Namespace], int] | ModuleType]) -> None:
        """Add commands by name: a function, or a module with several commands; the docstring is the help."""
        group = self.add_subparsers(metavar="COMMAND", title="commands")
        for name, run in commands.items():
            text = inspect.cleandoc(run.__doc__ or "")
            parser = group.add_parser(name, prog=f"{self.prog} {name}", description=text, help=text.partition("\n")[0])
            if callable(run):
                parser.set_defaults(run=run)
            self.commands[name] = parser

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise UserError(f"{message} (see {self.prog} --help)")

    def read(self, words: Sequence[str]) -> Namespace:
        """Parse the arguments, with the command's function as ``run`` and settings to hand on as ``settings``."""
        words = self._joined(words)
        asked = words[:2] in (["--help", "all"], ["--help", "trainer"]) or any(
            re.match(r"--[\w.]+\.help\b", word) for word in words
        )
        if self.show_settings and asked:
            return Namespace(run=partial(self.show_settings, words))
        if self.commands and words and not words[0].startswith("-"):
            near = did_you_mean(words[0], self.commands)
            self.error(f"no command {words[0]!r}{near}; commands: {', '.join(self.commands)}")
        parse = self.parse_known_args if self.commands else self.parse_known_intermixed_args
        arguments, settings = parse(words)
        if wrong := [word for word in settings if not self._is_setting(word) or _meant(word)]:
            self.error(f"unrecognized arguments: {' '.join(wrong)}{self._near(wrong[0])}")
        if "run" not in arguments:
            self.error(f"give a command: {', '.join(self.commands)}")
        if settings:
            refuse_wrong_numbers(settings)
        arguments.settings = settings
        return arguments

    def _near(self, word: str) -> str:
        """Suggest the flag that was meant; if none is near, say how settings are given."""
        if name := _meant(word):
            return f"; here it is {name}"
        flags = {name.lstrip("-"): name for name in (*self._option_string_actions, *self.settings)}
        near = did_you_mean(word.partition("=")[0].lstrip("-"), flags).replace("mean ", "mean --")
        settings = ", ".join(f"{name}.X" for name in self.settings[:3])
        return near or (settings and f"; settings are {settings}")

    def _is_setting(self, word: str) -> bool:
        name = word.partition("=")[0]
        return name in self.settings or name.startswith(tuple(f"{setting}." for setting in self.settings))

    def _joined(self, words: Sequence[str]) -> list[str]:
        """Return the words, with ``--data.root DIR``, or any flag that is not known here, as ``--data.root=DIR``.

        Without that the value would be taken for an argument that has no flag. A path that begins with a dash, one
        that exists or stands after ``--``, becomes ``./-NAME``.
        """
        own = self._option_string_actions
        joined: list[str] = []
        split = words.index("--") if "--" in words else len(words)
        for i, word in enumerate(words):
            if i == split:
                continue
            if word.startswith("-") and (i > split or (word not in own and os.path.lexists(word))):
                word = f"./{word}"
            last = joined[-1] if joined else ""
            takes = last.startswith("--") and "=" not in last and last not in own
            if takes and word not in own and not word.startswith("--"):
                joined[-1] = f"{last}={word}"
            else:
                joined.append(word)
        return joined


def _meant(word: str) -> str:
    """Return the name of a setting that another program calls as this flag, if there is one."""
    name = word.partition("=")[0].lstrip("-").replace("-", "_").removeprefix("trainer.")
    meant = MEANT.get(name, "")
    return "" if meant == f"--trainer.{name}" and "trainer." in word else meant


def tree(command: str = "") -> Parser:
    """Build the parser of all commands, or of one alone, which is quicker."""
    root = Parser(PROGRAM, "Train, compare and reproduce video transformers.")
    root.epilog = f"{PROGRAM} COMMAND --help: examples and all options of a command"
    root.add_argument("-V", "--version", action="version", version=__version__)
    names = [command] if command in COMMANDS else COMMANDS
    modules = {name: import_module(f"lit_video.commands.{name}") for name in names}
    root.add_commands({name: getattr(module, "run", module) for name, module in modules.items()})
    for name, module in modules.items():
        module.add(root.commands[name])
    return root


def parse(words: Sequence[str]) -> Namespace:
    """Parse a command line, with the words themselves as ``words``."""
    parser, left = tree(next(iter(words), "")), list(words)
    while left and left[0] in parser.commands:
        parser, left = parser.commands[left[0]], left[1:]
    arguments = parser.read(left)
    arguments.words = list(words)
    return arguments


def run_command(words: Sequence[str]) -> int:
    """Run a command as its line does; returns the exit status."""
    arguments = parse(words)
    status: int = arguments.run(arguments)
    return status
