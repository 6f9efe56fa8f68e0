"""Record commands, and put a parser's nested messages into one line."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path


def recorded_command(arguments: Sequence[str], program: str = "lit_video") -> str:
    """Return a command line without this machine's folders.

    A folder outside the working folder (``--runs``, ``--data.root``) becomes ``DIR``, a file there its name.
    """
    words = [_without_folder(argument) for argument in arguments]
    return shlex.join([*program.split(), *words])


def _without_folder(argument: str) -> str:
    flag, equals, value = argument.partition("=") if argument.startswith("--") else ("", "", argument)
    path = Path(value).expanduser()
    if not path.is_absolute() and path.parts[:1] != ("..",):
        return argument
    return flag + equals + (path.name if path.suffix else "DIR")


# lines of jsonargparse's messages about nested types, or about other ways to write a value
_NESTING = ("Does not validate", "Subtypes:", "Errors:", "Problem with given", "Given value", "Expected a path")
_KNOWN = "(fit --help all lists them, fit --model.help XViT those of a class)"


def explain(text: str) -> tuple[str, str]:
    """Return key and reason of a jsonargparse message, which nests all types that were tried.

    The key is dotted (``model.window``). A constructor's error has the group alone as key (``model``), and its reason
    begins with the argument.
    """
    keys = re.findall(r'Parser key "(.*?)"', text)
    if option := re.search(r"(?:Option '|unrecognized arguments: --)([\w.]+)", text):
        return ".".join([*keys, option[1]]), f"no such setting {_KNOWN}"
    innermost = text.rpartition("Parser key ")[2].splitlines()[1 if keys else 0 :]
    lines = dict.fromkeys(line.strip(" -") for line in innermost)
    reasons = [line for line in lines if line and not line.startswith(_NESTING) and "NoneType" not in line]
    of_ours = [line for line in reasons if not line.startswith("Expected")]
    reason = "; ".join(of_ours or reasons or text.splitlines()).replace(
        "Expected a dot import path string:", "no such class:"
    )
    reason = re.sub(r"<class '([\w.]+)'>|typing\.Literal", r"\1", reason)
    if not of_ours and "Got value" not in reason and (given := re.search(r"Given value: (.*)", text)):
        reason += f", got {given[1]}"
    owner = "model" if "VideoClassifier" in text else "data" if "VideoDataModule" in text else ""
    return ".".join(keys) or owner, reason
