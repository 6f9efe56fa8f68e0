"""Test that names of the package mean one thing: no two modules define one, and a variable is named for its thing."""

import ast
import re
from collections.abc import Iterator

from benchmarks.structure import modules_of, names_defined_again
from tests.conftest import ROOT

# every module of a command or of a group of commands has these, see commands/parser.py
COMMAND_PARTS = {"COMMANDS", "FUNCTION", "add_arguments", "run"}

# words that name no thing; "wanted" and "used" are a row's and a run's value in the list form of a stored Override
LOOSE = {"each", "found", "given", "known", "made", "one", "said", "wanted"}
STORED = {("runs/result.py", "wanted")}


def test_each_public_name_is_defined_once():
    names = names_defined_again(modules_of(ROOT / "lit_video"))
    assert set(names) == COMMAND_PARTS


def names_given_to_values(tree: ast.Module) -> Iterator[str]:
    """Yield the names of variables, parameters, functions and classes of a module, inner ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def test_a_name_is_a_thing_and_not_a_loose_word():
    loose = set()
    for path in sorted((ROOT / "lit_video").rglob("*.py")):
        place = path.relative_to(ROOT / "lit_video").as_posix()
        names = names_given_to_values(ast.parse(path.read_text(encoding="utf-8")))
        loose |= {(place, name) for name in names if name in LOOSE}
    assert loose == STORED


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
