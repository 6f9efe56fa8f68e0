"""Test that a name of the package means one thing: no two modules define one, and a documented argument exists."""

import ast
import re

from benchmarks.structure import modules_of, names_defined_again
from tests.conftest import ROOT

# every module of a command or of a group of commands has these, see commands/parser.py
COMMAND_PARTS = {"COMMANDS", "FUNCTION", "add_arguments", "run"}


def test_each_public_name_is_defined_once():
    names = names_defined_again(modules_of(ROOT / "lit_video"))
    assert set(names) == COMMAND_PARTS


def documented(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """Return the arguments that a docstring explains under ``Args:``."""
    _, _, lines = (ast.get_docstring(node) or "").partition("Args:\n")
    block = re.match(r"(?: {4}.*\n?|\n)*", lines)
    return set(re.findall(r"^ {4}\*{0,2}(\w+):", block[0], re.M)) if block else set()


def arguments(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """Return the arguments of a function, or the fields and the constructor's and the call's arguments of a class."""
    if isinstance(node, ast.ClassDef):
        names = {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
        made = [
            part for part in node.body if isinstance(part, ast.FunctionDef) and part.name in ("__init__", "__call__")
        ]
        return names.union(*map(arguments, made))
    return {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}


def test_every_documented_argument_exists():
    wrong = set()
    for path in sorted((ROOT / "lit_video").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                wrong |= {(path.name, node.name, name) for name in documented(node) - arguments(node)}
    assert wrong == set()
