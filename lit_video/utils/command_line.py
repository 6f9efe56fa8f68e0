"""Record commands, and put a parser's nested messages into one line."""

import shlex
from collections.abc import Sequence
from pathlib import Path


def recorded_command(arguments: Sequence[str], program: str = "lit_video") -> str:
    """Return a program's words with its arguments, without folders of the machine.

    A folder outside the working folder (``--runs``, ``--data.root``) is ``DIR``, a file there is its name.
    """
    words = [_without_folder(argument) for argument in arguments]
    return shlex.join([*program.split(), *words])


def _without_folder(argument: str) -> str:
    flag, equals, value = argument.partition("=") if argument.startswith("--") else ("", "", argument)
    path = Path(value).expanduser()
    if not path.is_absolute() and path.parts[:1] != ("..",):
        return argument
    return flag + equals + (path.name if path.suffix else "DIR")


# lines of jsonargparse's messages on how its types are nested, or on a way to write a value that is not meant
_NESTING = ("Does not validate", "Subtypes:", "Errors:", "Problem with given", "Given value type:", "Expected a path")
_NO_SETTING = "no such setting (fit --help all lists them)"


def explain(text: str) -> tuple[str, str]:
    """Return key and reason of a jsonargparse message, which nests all types that it has tried.

    The key is dotted (``model.window``); the reason of a constructor begins with the argument, for which the key is
    the part of the settings alone (``model``).
    """
    keys: list[str] = []
    reasons: list[str] = []
    expected: list[str] = []
    given = ""
    for line in (line.strip().removeprefix("- ") for line in text.splitlines()):
        if line.startswith("Parser key "):
            keys.append(line.split('"')[1])
        elif line.startswith("Option '"):
            return ".".join([*keys, line.split("'")[1]]), _NO_SETTING
        elif line.startswith("unrecognized arguments: --"):
            return line.split("--")[1].partition("=")[0], _NO_SETTING
        elif line.startswith("Given value: "):
            given = given or line.removeprefix("Given value: ")
        elif "Expected a dot import path string: " in line:
            expected.append("the name of a class (fit --help all lists them)")
            given = given or line.rpartition(": ")[2]
        elif line.startswith("Expected a ") and not line.startswith(_NESTING):
            kind, _, value = line.removeprefix("Expected a ").partition(". Got value: ")
            given = value or given
            expected.append(kind.replace("typing.Literal", "").replace("<class ", "").strip("[]>").replace("'", ""))
        elif line and not line.startswith(_NESTING):
            reasons.append(line)
    types = ", ".join(kind for kind in dict.fromkeys(expected) if kind != "NoneType")
    owner = "model" if "VideoClassifier" in text else "data" if "VideoDataModule" in text else ""
    return ".".join(keys) or owner, reasons[0] if reasons else f"expected {types}, got {given}"
