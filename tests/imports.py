"""Modules of this repository, and what their files import."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.around import ROOT


def name_of(path: Path) -> str:
    """Return a file's module, such as ``lit_video.tables``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def modules_of(*folders: str) -> dict[str, Path]:
    """Return the files of the modules in folders, by name."""
    return {name_of(path): path for folder in folders for path in (ROOT / folder).rglob("*.py")}


def run_by_python(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree that are not for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from run_by_python(node)


@cache
def names_imported(path: Path) -> frozenset[str]:
    """Return the dotted names of what a file imports, in functions too: modules, and names in modules."""
    names = set()
    for node in run_by_python(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "import_module":
            names |= {word.value for word in node.args if isinstance(word, ast.Constant)}
    return frozenset(names)
