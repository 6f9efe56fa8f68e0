"""Test that constructors and functions of models take long lists of arguments by name only."""

import ast
from importlib import import_module
from inspect import getfile
from pathlib import Path

import pytest

PACKAGES = ["attention", "modules", "network", "schemes"]
MOST = 3
# called by PyTorch, which gives four values by position
HOOKS = {"mark", "tell_whether_awaited"}


def positional(function):
    """Return the names that a call may give by position, without self and cls."""
    names = [argument.arg for argument in function.args.posonlyargs + function.args.args]
    return [name for name in names if name not in ("self", "ctx")]


def files(package):
    """Return the package's files by name."""
    folder = Path(getfile(import_module(f"lit_video.{package}"))).parent
    return sorted(folder.glob("*.py"))


@pytest.mark.parametrize("package", PACKAGES)
def test_no_more_than_three_arguments_are_given_by_position(package):
    long = []
    for file in files(package):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name not in HOOKS and len(positional(node)) > MOST:
                long.append((file.name, node.name))
    assert not long


def test_the_check_sees_a_long_list():
    node = ast.parse("def f(self, a, b, c, d, *, e): pass").body[0]
    assert positional(node) == ["a", "b", "c", "d"]
