"""The tree of commands, an argparse parser for each; a mistake is reported in one line."""

import argparse
import inspect
import os
import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from lit_video import __version__
from lit_video.commands.signatures import plain, signature
from lit_video.errors import UserError
from lit_video.settings.class_names import refuse_unknown_class
from lit_video.utils.text import did_you_mean

# modules of this package, in the order of the help. A command's has FUNCTION, the name of its function in lit_video,
# add_arguments(parser) and run(arguments); a group's has COMMANDS, modules by name
COMMANDS = (
    *("finetune", "compare", "fit", "sweep"),
    *("table", "report", "pack", "dashboard"),
    *("test", "predict", "attention", "embed", "export", "weights"),
    *("profile", "probe", "cost", "data", "doctor"),
)
PROGRAM = "lit_video"

# names of commands in other programs -> our names
MEANT_COMMANDS = {
    "train": "fit or finetune",
    "training": "fit or finetune",
    "run": "fit",
    "main": "fit",
    "eval": "test",
    "evaluate": "test",
    "validate": "test",
    "inference": "predict",
    "infer": "predict",
    "classify": "predict",
    "benchmark": "cost",
    "download": "weights fetch",
    "convert": "export",
    "results": "table",
    "plot": "report",
    "prepare": "data prepare",
    "check": "data check",
}
# names of settings in other programs -> our names
MEANT_FLAGS = {
    "time": "--minutes of finetune, --trainer.max_time of fit",
    "hours": "--minutes of finetune, --trainer.max_time of fit",
    "workers": "--data.num_workers",
    "num_workers": "--data.num_workers",
    "num_frames": "--data.num_frames",
    "learning_rate": "--model.optimization.lr",
    "weight_decay": "--model.optimization.weight_decay",
    "checkpoint": "--ckpt",
    "resume": "the same command again",
    "output_dir": "--runs of fit, --output of others",
    "epochs": "--trainer.max_epochs",
    "steps": "--trainer.max_steps",
    "gpus": "--trainer.devices of fit, --gpus-per-run of sweep",
    "devices": "--trainer.devices",
    "precision": "--trainer.precision",
    "lr": "--model.optimization.lr",
    "batch_size": "--data.batch_size",
    "dry_run": "--print-config of fit, --dry-run of sweep",
}


class Parser(argparse.ArgumentParser):
    """Parser of a command or of a group of commands.

    Attributes:
        commands: the parsers below this one.
        settings: flags that the command passes on to Lightning, also with a dotted suffix (``--data.root``).
        lightning: subcommand of LightningCLI, such as ``fit``, that prints the help on settings; empty if none.
    """

    def __init__(self, prog: str, description: str, **more: Any) -> None:
        plain = partial(argparse.RawDescriptionHelpFormatter, max_help_position=32)
        super().__init__(prog=prog, description=description, formatter_class=plain, allow_abbrev=False, **more)
        self.commands: dict[str, Parser] = {}
        self.settings: tuple[str, ...] = ()
        self.lightning = ""

    def examples(self, *lines: str) -> None:
        """Add examples of the arguments at the end of the help."""
        self.epilog = "\n".join(["examples:", *(f"  {self.prog} {line}".rstrip() for line in lines)])

    def add_commands(self, modules: Mapping[str, ModuleType]) -> None:
        """Add commands and groups by name, with their arguments."""
        group = self.add_subparsers(metavar="COMMAND", title="commands")
        for name, module in modules.items():
            text = inspect.cleandoc(module.__doc__ or "")
            if hasattr(module, "FUNCTION"):  # its function describes the command, and ``run`` adds to it
                _, _, more = inspect.cleandoc(module.run.__doc__ or "").partition("\n\n")
                text = "\n\n".join(filter(None, [plain(signature(module.FUNCTION).text), more]))
            summary = text.partition("\n")[0].replace("%", "%%")
            parser = group.add_parser(name, prog=f"{self.prog} {name}", description=text, help=summary)
            self.commands[name] = parser
            if hasattr(module, "run"):
                parser.set_defaults(run=module.run)
                module.add_arguments(parser)
            if inner := getattr(module, "COMMANDS", {}):
                parser.add_commands(inner)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage; suggest a known flag for an unknown one."""
        _, _, word = message.partition("unrecognized arguments: ")
        name = re.split("[= ]", word)[0].lstrip("-")
        meant = MEANT_FLAGS.get(name.replace("-", "_").removeprefix("trainer."))
        own = f"--{name.replace('_', '-')}" in self._option_string_actions
        near = did_you_mean(name, [flag.lstrip("-") for flag in self._option_string_actions])
        hint = ""
        if word and meant and not own:
            hint = f"; here it is {meant}"
        elif word and near:
            hint = near.replace("mean ", "mean --")
        elif word and self.settings:  # say how settings are given
            hint = f"; settings are {', '.join(f'{section}.X' for section in self.settings[:3])}"
        raise UserError(f"{message}{hint} (see {self.prog} --help)")

    def read(self, words: Sequence[str]) -> Namespace:
        """Parse the arguments; in the result ``run`` is the command's function, ``settings`` are Lightning's flags."""
        own, settings = self._divided(words)
        for word in settings:
            setting, _, value = word.lstrip("-").partition("=")
            refuse_unknown_class(setting, value)
            if self.lightning and setting.endswith(".help"):
                return Namespace(run=_show, asked=[self.lightning, *settings])
        if self.lightning and own[:2] == ["--help", "all"]:
            return Namespace(run=_show, asked=[self.lightning, "--help"])

        if self.commands and own and not own[0].startswith("-"):  # no command is below this parser
            meant = MEANT_COMMANDS.get(own[0].lower()) if self.prog == PROGRAM else None
            near = f" (did you mean {meant}?)" if meant else did_you_mean(own[0], self.commands)
            self.error(f"no command {own[0]!r}{near}; commands: {', '.join(self.commands)}")

        unknown = [word for word in settings if not self._is_setting(word)]
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")

        arguments = self.parse_args(own) if self.commands else self.parse_intermixed_args(own)
        if "run" not in arguments:
            self.error(f"give a command: {', '.join(self.commands)}")
        arguments.settings = settings
        return arguments

    def _divided(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """Divide the words into arguments of the command and settings; ``--data.root DIR`` becomes ``--data.root=DIR``.

        A path that begins with a dash becomes ``./-NAME`` if it exists or follows ``--``.
        """
        flags = self._option_string_actions
        own: list[str] = []
        settings: list[str] = []
        waiting = list(words)
        while waiting:
            word = waiting.pop(0)
            if word == "--":
                own += [re.sub("^-", "./-", path) for path in waiting]
                break

            if not word.startswith("-") or word.partition("=")[0] in flags:
                own.append(word)
            elif os.path.lexists(word):
                own.append(f"./{word}")
            elif word.startswith("--"):
                takes_next = "=" not in word and waiting and waiting[0] not in flags and not waiting[0].startswith("--")
                if takes_next:
                    word = f"{word}={waiting.pop(0)}"
                settings.append(word)
            else:
                own.append(word)
        return own, settings

    def _is_setting(self, word: str) -> bool:
        name = word.partition("=")[0].rstrip("+")
        if MEANT_FLAGS.get(name.removeprefix("--trainer."), name) != name:
            return False
        return f"{name}.".startswith(tuple(map("{}.".format, self.settings)))


def _show(arguments: Namespace) -> int:
    from lit_video.experiment.cli import show  # here, because importing torch takes seconds

    return show(arguments.asked)


def tree(command: str = "") -> Parser:
    """Build the parser of all commands, or of one alone, which is quicker."""
    root = Parser(PROGRAM, "Train, compare and reproduce video transformers.")
    root.epilog = f"{PROGRAM} COMMAND --help: examples and all options of a command"
    root.add_argument("-V", "--version", action="version", version=__version__)
    names = [command] if command in COMMANDS else COMMANDS
    root.add_commands({name: import_module(f"lit_video.commands.{name}") for name in names})
    return root


def parse(words: Sequence[str]) -> Namespace:
    """Parse a command line."""
    parser = tree(words[0] if words else "")
    remaining = list(words)
    while remaining and remaining[0] in parser.commands:
        parser = parser.commands[remaining.pop(0)]
    return parser.read(remaining)
