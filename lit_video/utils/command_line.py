"""The command line in words: how a command is recorded, and a parser's nested messages in one line."""

import inspect
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from lit_video.utils.text import did_you_mean


def recorded_command(arguments: Sequence[str], program: str = "lit_video") -> str:
    """``python -m PROGRAM`` with its arguments, without folders of the machine.

    A folder outside the working folder (``--runs``, ``--data.root``) is ``DIR``, a file there is its name.
    """
    words = [_without_folder(argument) for argument in arguments]
    return shlex.join(["python", "-m", program, *words])


def _without_folder(argument: str) -> str:
    flag, equals, value = argument.partition("=") if argument.startswith("--") else ("", "", argument)
    path = Path(value).expanduser()
    if not path.is_absolute() and path.parts[:1] != ("..",):
        return argument
    return flag + equals + (path.name if path.suffix else "DIR")


_NOISE = re.compile(
    r"Does not validate against|Subtypes:|Errors:|Problem with given class_path|Given value type:"
    r"|Expected a <class 'NoneType'>|Expected a path but|Expected a dot import path"
)
OWNERS = {"VideoClassifier": "model", "VideoDataModule": "data", "Trainer": "trainer"}


def explain(text: str) -> tuple[str, str]:
    """Key and reason of a jsonargparse message, which nests all types it has tried.

    Returns:
        The dotted key (``model.window``), empty where the message has none, and the reason.
    """
    keys: list[str] = []
    reasons: list[str] = []
    given = ""
    for line in (line.strip().removeprefix("- ") for line in text.splitlines()):
        if match := re.match(r'Parser key "([\w.]+)":', line):
            keys.append(match[1])
        elif match := re.match(r"Option '(.+)' is not accepted", line):
            return ".".join([*keys, match[1]]), "no such setting" + _near_setting(text, match[1])
        elif line.startswith("Given value:"):
            given = given or line.removeprefix("Given value:").strip()
        elif line and not _NOISE.match(line):
            reasons.append(line)
    if match := re.match(r"unrecognized arguments: --trainer\.(\w+)", text.strip()):
        return f"trainer.{match[1]}", "no such setting" + did_you_mean(match[1], _settings("lightning.Trainer"))
    if wrong := re.search(r"Expected a dot import path string: (.+)", text):
        return ".".join(keys), _no_class(text, wrong[1])
    plain = [reason for reason in reasons if not reason.startswith("Expected a")]
    if not plain and reasons:
        return ".".join(keys), _expected(reasons, given)
    return _of_a_constructor(text, keys, next(iter(plain), "wrong value"))


def _of_a_constructor(text: str, keys: list[str], reason: str) -> tuple[str, str]:
    """Messages of our constructors begin with the argument: model + "ratio is 1.5"."""
    owners = [key for name, key in OWNERS.items() if name in text][:1]
    argument = re.match(r"[a-z_]+\b", reason)
    if keys or not owners or not argument:
        return ".".join(keys or owners), reason
    return ".".join([*owners, *_part(text), argument[0]]), reason[argument.end() :].strip()


def _expected(reasons: list[str], given: str) -> str:
    """Join the messages "Expected a X" of every type that was tried, with the value that was given."""
    types, names = [], []
    for reason in reasons:
        if literal := re.search(r"Literal\[(.*?)\]", reason):
            names += [name.strip().strip("'\"") for name in literal[1].split(",")]
        else:
            types.append(
                re.sub(r"Expected a (?:typing\.)?(?:<class '([\w.]+)'>)?", r"\1", reason.partition(". Got")[0])
            )
        given = reason.partition("Got value: ")[2] or given
    all_of_them = list(dict.fromkeys([*types, *names]))
    return f"expected {', '.join(all_of_them)}, got {given}{did_you_mean(given, names)}"


def _no_class(text: str, name: str) -> str:
    """Message for an unknown class or word, with those that exist."""
    tried = re.findall(r"Subtypes: \[(.*)\]\n", text.partition("Expected a dot import path")[0])[-1:]
    words = re.findall(r"'(\w+)'", "".join(re.findall(r"Literal\[(.*?)\]", "".join(tried))))
    bases = filter(None, map(_find, re.findall(r"<class '([\w.]+)'>", "".join(tried))))
    known = [*words, *sorted({leaf.__name__ for base in bases for leaf in _leaves(base)})]
    return f"no class {name!r}{did_you_mean(name, known)}" + (f"; there are {', '.join(known)}" if known else "")


def _leaves(base: type) -> list[type]:
    """The class, or classes of the same package derived from it; both for a dataclass, such as ``Dense``."""
    package = base.__module__.partition(".")[0]
    derived: list[type] = type.__subclasses__(base)
    ours = [each for each in derived if each.__module__.partition(".")[0] == package]
    leaves = [leaf for each in ours for leaf in _leaves(each)]
    return [base, *leaves] if not leaves or is_dataclass(base) else leaves


def _near_setting(text: str, name: str) -> str:
    owners = re.findall(r"Problem with given class_path '([\w.]+)'", text)
    return did_you_mean(name.rpartition(".")[2], _settings(owners[-1])) if owners else ""


def _settings(path: str) -> Mapping[str, Any]:
    """Types of a class's arguments by name, with those that it hands on to its base."""
    kind = _find(path)
    found: dict[str, Any] = {}
    for each in kind.__mro__ if kind else ():
        if own := vars(each).get("__init__"):
            found = {name: one.annotation for name, one in inspect.signature(own).parameters.items()} | found
    return {name: annotation for name, annotation in found.items() if name not in {"self", "args", "kwargs"}}


def _part(text: str) -> list[str]:
    """The argument that a wrong value is a part of: ``optimization`` of a wrong rate."""
    parts = re.findall(r"Subtypes: \[<class '([\w.]+)'>", text)[1:]
    owner = re.search(r"class_path='([\w.]+)'", text)
    if not parts or not owner:
        return []
    return [name for name, annotation in _settings(owner[1]).items() if parts[0] in str(annotation)][:1]


def _find(path: str) -> type | None:
    """A class by its path, if it has been imported."""
    module, _, name = path.rpartition(".")
    found = getattr(sys.modules.get(module), name, None)
    return found if inspect.isclass(found) else None
