"""Arguments of functions of this package, read from their files: to import one takes longer than a command's help."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import lit_video

NO_DEFAULT: Any = object()


class Argument(NamedTuple):
    """Argument of a function, or a field of a class."""

    name: str
    kind: str  # its type as in the file, without None, with the file's own names replaced: Literal['cpu', 'cuda']
    default: Any  # NO_DEFAULT if a call must give it
    text: str  # its words in the docstring
    is_keyword: bool  # whether a call can give it by its name alone
    may_be_none: bool = False


class Signature(NamedTuple):
    """Arguments and docstring of a function, or fields and docstring of a class."""

    summary: str  # first sentence of the docstring
    text: str  # docstring without its sections
    arguments: dict[str, Argument]


@cache
def signature(name: str) -> Signature:
    """Return the signature of a function or a dataclass of ``lit_video.__all__``."""
    place = find_spec(f"lit_video.{lit_video.MODULES[name]}")
    assert place and place.origin
    tree = ast.parse(Path(place.origin).read_text(encoding="utf-8"))
    (node,) = [part for part in tree.body if isinstance(part, ast.FunctionDef | ast.ClassDef) and part.name == name]

    text = ast.get_docstring(node) or ""
    explained = _explained(text)
    aliases = {
        part.targets[0].id: ast.unparse(part.value)
        for part in tree.body
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
    }
    arguments = {}
    for argument, annotation, default, is_keyword in _fields(node) if isinstance(node, ast.ClassDef) else _taken(node):
        kind = _words_of(annotation).removesuffix(" | None")
        arguments[argument] = Argument(
            argument,
            aliases.get(kind, kind),
            NO_DEFAULT if default is None else ast.literal_eval(default),
            explained.get(argument, ""),
            is_keyword,
            may_be_none=kind != _words_of(annotation),
        )
    described = re.split(r"\n\n(?:Args|Attributes|Returns|Raises):\n", text)[0]
    return Signature(text.partition("\n")[0], described, arguments)


# name, type, default and whether it is given by name alone
Taken = tuple[str, ast.expr | None, ast.expr | None, bool]


def _taken(node: ast.FunctionDef) -> Iterator[Taken]:
    """Yield the arguments of a function."""
    given = node.args
    without = [None] * (len(given.args) - len(given.defaults))
    for argument, default in zip(given.args, [*without, *given.defaults], strict=True):
        yield argument.arg, argument.annotation, default, False
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield argument.arg, argument.annotation, default, True


def _fields(node: ast.ClassDef) -> Iterator[Taken]:
    """Yield the fields of a dataclass."""
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            yield part.target.id, part.annotation, part.value, True


def _words_of(annotation: ast.expr | None) -> str:
    """Return an annotation as text, also a quoted one."""
    if annotation is None:
        return ""
    quoted = isinstance(annotation, ast.Constant)
    return str(annotation.value) if quoted else ast.unparse(annotation)


def _explained(text: str) -> dict[str, str]:
    """Return what a docstring says of each argument, a line for each."""
    block = re.search(r"^(?:Args|Attributes):\n((?: {4}.*(?:\n|$))+)", text, re.M)
    parts = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", block[1] if block else "", re.M)
    return {name: " ".join(words.split()) for name, words in parts}
