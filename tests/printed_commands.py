"""Commands that pages, docstrings, comments, notebooks and messages print, and a check of each by its own parser.

A command is a line of its own, a span in backticks, or a part of a sentence. Of a sentence a beginning that has all of
its flags must parse, because its words go on as prose.
"""

import argparse
import ast
import io
import json
import re
import runpy
import shlex
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from lit_video.commands.arguments import CONFIG, FLAG_TYPES, SPELLED
from lit_video.commands.parser import parse
from lit_video.errors import UserError
from lit_video.utils.yaml_files import find_config
from tests.conftest import ROOT

BLOCK = re.compile(r"^ *```\w*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`+([^`]+)`+")
# verbs after the name of this project are no command
CALL = re.compile(
    r"(?:(?:^|-m |[ \"'(])lit_video (?!COMMAND|does\b|has\b|is\b|are\b|of\b|too\b|itself\b)(?=[a-z])"
    r"|(?P<python>\bpython3?(?:\.\d+)? (?:-m (?=(?:benchmarks|tests)\.)|(?=(?:benchmarks|docs|notebooks|tests)/)))"
    r"|(?P<pytest>\bpytest (?=.*\btests/))"
    r"|(?P<make>(?:^|(?<=[`(]))make (?=[a-z])))(?P<words>[^\n\"`]*)"
)
SETTING = re.compile(r"--(?:model|data|trainer)(?:\.[a-z]\w*)+")
OTHER_SETTINGS = (
    "--global_batch=32",
    "--model=my_video.Distilled",
    "--model=my_video.Focal",
    "--model=my_video.OneCycle",
)
ENDS = re.compile(r"(?:  +#? *| #).*")  # a remark behind a command
UNKNOWN = "UNKNOWN"  # stands for a value that a program puts into a message


@dataclass(frozen=True)
class Printed:
    """A command as printed: its words without the program's name."""

    program: str  # lit_video, python, pytest or make
    words: str
    is_prose: bool = False  # part of a sentence, which goes on


class Parsed(Exception):
    """Raised after a script's parser has accepted its arguments, so that nothing runs."""


def of_page(text: str) -> set[Printed]:
    """Return the commands of a Markdown page, in its blocks and spans."""
    spans = [" ".join(span.split()) for span in SPAN.findall(BLOCK.sub("", text))]
    blocks = "\n".join(BLOCK.findall(text))
    found = set[Printed]()
    for line in [*_joined_lines(blocks), *spans]:
        found.update(_in_line(line))
    return found


def of_text(text: str) -> set[Printed]:
    """Return the commands of comments, docstrings and messages: in lines, in spans and in sentences."""
    found = set[Printed]()
    for span in SPAN.findall(text):
        found.update(_in_line(" ".join(span.split())))
    for line in _joined_lines(SPAN.sub("", text)):
        is_own_line = re.match(r"\s*(\$\(BIN\)/|\w+=\w+ )*(lit_video|python|pytest) ", line) is not None
        found.update(Printed(each.program, each.words, not is_own_line) for each in _in_line(line.strip()))
    return found


def of_file(file: Path) -> set[Printed]:
    """Return the commands that a file of this repository prints, by the kind of file."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return of_page(text)
    if file.suffix == ".ipynb":
        return of_page("\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"]))
    if file.suffix == ".py":
        return of_text("\n\n".join(_strings(text)))
    if file.suffix in (".yaml", ".yml"):
        text = re.sub(r"^\s*#", "", text, flags=re.MULTILINE)
    return of_text(text)


def _strings(code: str) -> Iterator[str]:
    """Yield the comments and strings of a Python file; values of f-strings are ``UNKNOWN``."""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")

    inside = set[ast.AST]()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.JoinedStr):
            inside.update(node.values)
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else UNKNOWN for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.value


def _joined_lines(text: str) -> list[str]:
    """Return lines, those that go on behind a backslash or with a flag joined."""
    joined = re.sub(r" *\\\n\s*", " ", text)
    return re.sub(r"\n[ \t]*(?=--[a-z])", " ", joined).splitlines()


def _in_line(line: str) -> Iterator[Printed]:
    """Yield the commands of a line."""
    line = re.sub(r"\$\(BIN\)/", "", line)
    line = re.sub(r"\$(?:[A-Z_a-z]+|\([A-Z]+\)|@)", "1", line)  # variables of a script or of make
    for call in CALL.finditer(line):
        words = ENDS.sub("", call["words"]).strip()
        program = next((name for name in ("python", "pytest", "make") if call[name]), "lit_video")
        if program == "make" and not re.fullmatch(r"[a-z-]+( [A-Z]+=\S+)*", words):
            continue  # a sentence
        yield Printed(program, words)


def refusal(printed: Printed) -> str:
    """Return why a command does not parse; an empty text if it does."""
    if not printed.is_prose:
        return _refusal(printed.program, printed.words)

    words = re.split(r"[;,)]|\.(?:\s|$)|: ", printed.words)[0].split()
    flags = [number for number, word in enumerate(words) if word.startswith("--")]
    reason = "no command"
    for last in range(len(words), max([0, *flags]), -1):
        reason = _refusal(printed.program, " ".join(words[:last]))
        without_unknown = " ".join(word for word in words[:last] if word != UNKNOWN)
        if not reason or not _refusal(printed.program, without_unknown):
            return ""
    return reason


@cache
def _refusal(program: str, words: str) -> str:
    refusals = {"lit_video": _of_lit_video, "python": _of_script, "pytest": _of_pytest, "make": _of_make}
    try:
        return refusals[program](words)
    except ValueError as error:  # quotes that do not close
        return str(error)


def _of_lit_video(command: str) -> str:
    """Parse a command of this package; placeholders such as VIDEO name no file."""
    plain = command.replace("...", "").replace(" SEED", " 0").replace(UNKNOWN, "1")
    plain = plain.replace("[", "").replace("]", "")  # optional parts are given
    words = shlex.split(re.sub(r"\|[\w|]+", "", plain))  # the first of A|B|C
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SPELLED["ckpt"], "type", Path)
        for files in (CONFIG, FLAG_TYPES["Files"]):
            patch.setitem(files, "type", _config)
        try:
            wrong = [each for each in parse(words).settings if not (SETTING.match(each) or each in OTHER_SETTINGS)]
        except UserError as error:
            missing = re.search(r"^([\w./|-]+): no such (?:file|folder)", str(error))
            is_example = missing is not None and not _is_of_repository(missing[1])
            if is_example or ("..." in command and "arguments are required" in str(error)):
                return ""
            return str(error)
    return f"no such settings: {wrong}" if wrong else ""


def _config(text: str) -> Path:
    """Find a settings file; of a placeholder such as TABLE some file."""
    return find_config("ablation_tw" if text == "1" or Path(text).stem[:2].isupper() else text)


def _is_of_repository(path: str) -> bool:
    """Return whether a path names a file of this repository, not a user's or a placeholder such as VIDEO."""
    folder = path.partition("/")[0]
    return "/" in path and (ROOT / folder).is_dir() and not Path(path).stem[:2].isupper()


def _of_script(command: str) -> str:
    """Parse the arguments of a script of this repository by its own parser, without running it."""
    script, *arguments = shlex.split(command)
    if UNKNOWN in script:
        return ""
    file = ROOT / script
    if not script.endswith(".py"):
        module = ROOT / script.replace(".", "/")
        file = module / "__main__.py" if module.is_dir() else module.with_suffix(".py")
    if not file.is_file():
        return f"no such script: {script}"

    text = " ".join(arguments).replace("[", "").replace("]", "")
    arguments = re.sub(r"\|[\w|]+", "", text).split()
    code = file.read_text(encoding="utf-8")
    if ".parse_args(" not in code:
        flags = {"--check"} if "write_or_compare(" in code else {*re.findall(r"\"(--[\w-]+)\"", code)}
        unknown = [each for each in arguments if each.startswith("-") and each not in flags]
        unknown += [each for each in arguments if not each.startswith("-") and "sys.argv" not in code]
        return f"{script} takes no {', '.join(unknown)}" if unknown else ""
    with_numbers = [re.sub("^[A-Z]$", "1", each) for each in arguments]  # placeholders such as N
    refused = _of_argparse(script, file, arguments) if arguments else ""  # otherwise its name is printed
    return refused and _of_argparse(script, file, with_numbers)


def _of_argparse(script: str, file: Path, arguments: list[str]) -> str:
    parse_args = argparse.ArgumentParser.parse_args

    def parse_alone(parser: argparse.ArgumentParser, *given: object) -> None:
        parse_args(parser, *given)  # type: ignore[call-overload]
        raise Parsed

    errors = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", parse_alone)
        patch.setattr(sys, "argv", [script, *arguments])
        patch.setattr(sys, "stderr", errors)
        patch.syspath_prepend(file.parent)
        try:
            if script.endswith(".py"):
                runpy.run_path(str(file), run_name="__main__")
            else:
                runpy.run_module(script, run_name="__main__")
        except Parsed:
            return ""
        except SystemExit:
            return errors.getvalue().strip().rpartition("\n")[2]
    return f"{script} parses no arguments"


def _of_pytest(command: str) -> str:
    """Check that test files and functions exist."""
    for word in command.split():
        path, _, name = word.partition("::")
        if not path.startswith("tests/"):
            continue
        if not (ROOT / path).exists():
            return f"no such tests: {path}"
        function = name.partition("[")[0]
        if function and not re.search(rf"^ *def {function}\(", (ROOT / path).read_text(), re.MULTILINE):
            return f"no test {function} in {path}"
    return ""


def _of_make(command: str) -> str:
    """Check that a target of the Makefile exists."""
    target = command.split()[0]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return "" if target in targets else f"no target {target}"
