"""Arguments of functions of this package, read from their files: to import one takes longer than a command's help."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import lit_video

NO_DEFAULT: Any = object()
SECTIONS_OF_DOCSTRINGS = re.compile(r"\n\n(?:Args|Attributes|Returns|Raises):\n")


class Argument(NamedTuple):
    """Argument of a function, or field of a class."""

    kind: str  # its type as in the file, without None, a name of the file replaced: Literal['cpu', 'cuda']
    may_be_none: bool
    default: Any  # NO_DEFAULT if a call must give it
    by_name: bool  # whether a call gives it by its name alone
    text: str  # its words in the docstring


class ReadSignature(NamedTuple):
    """Arguments and docstring of a function or a class."""

    text: str  # docstring without its sections
    arguments: dict[str, Argument]


@cache
def signature(name: str) -> ReadSignature:
    """Return the signature of a function or a dataclass of the API, by its name in ``lit_video``."""
    parts = _parts_of(lit_video.MODULES[name])
    (node,) = [part for part in parts if isinstance(part, ast.FunctionDef | ast.ClassDef) and part.name == name]
    aliases = {
        part.targets[0].id: part.value
        for part in parts
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
    }

    text = ast.get_docstring(node) or ""
    block = re.search(r"^(?:Args|Attributes):\n((?: {4}.*(?:\n|$))+)", text, re.M)
    explained = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", block[1] if block else "", re.M)
    text_of = {argument: " ".join(words.split()) for argument, words in explained}
    arguments = {}
    for argument, annotation, default, by_name in _fields(node) if isinstance(node, ast.ClassDef) else _taken(node):
        quoted = isinstance(annotation, ast.Constant)
        whole = str(annotation.value) if quoted else ast.unparse(annotation)
        kind = whole.removesuffix(" | None")
        arguments[argument] = Argument(
            kind=ast.unparse(aliases[kind]) if kind in aliases else kind,
            may_be_none=kind != whole,
            default=NO_DEFAULT if default is None else ast.literal_eval(default),
            by_name=by_name,
            text=text_of.get(argument, ""),
        )
    return ReadSignature(SECTIONS_OF_DOCSTRINGS.split(text)[0], arguments)


@cache
def _parts_of(module: str) -> list[ast.stmt]:
    """Return the definitions and other statements of a module's file."""
    file = Path(lit_video.__file__).parent / f"{module.replace('.', '/')}.py"
    return ast.parse(file.read_text(encoding="utf-8")).body


# name, type, default, and whether it is given by its name alone
Taken = tuple[str, Any, ast.expr | None, bool]


def _taken(node: ast.FunctionDef) -> Iterator[Taken]:
    """Yield the arguments of a function."""
    by_place = node.args.args
    without = [None] * (len(by_place) - len(node.args.defaults))
    for argument, default in zip(by_place, [*without, *node.args.defaults], strict=True):
        yield argument.arg, argument.annotation, default, False
    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        yield argument.arg, argument.annotation, default, True


def _fields(node: ast.ClassDef) -> Iterator[Taken]:
    """Yield the fields of a dataclass."""
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            yield part.target.id, part.annotation, part.value, True


def plain(text: str) -> str:
    """Return the words of a docstring without its marks."""
    return re.sub(r":\w+:`~?([^`]+)`|``", lambda mark: mark[1] or "", text)


def flag_help(text: str) -> str:
    """Return the words of an argument as the help of a flag has them: what ``None`` stands for is the default."""
    return re.sub(r"(?:^|[;,] )None(?: for|:) (.+)$", r" (default: \1)", plain(text).removesuffix(".")).strip()
