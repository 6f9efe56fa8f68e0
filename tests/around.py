"""Find the tests that depend on what is around them: finished runs, a user's videos, variables of the shell."""

import inspect
import sys
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

ROOT = Path(__file__).parent.parent
# modules that are commands or start processes, and methods that list a folder
STARTERS = ("lit_video.__main__", "lit_video.api", "lit_video.commands", "lit_video.launching")
STARTERS += ("multiprocessing", "subprocess")
LISTS = {"glob", "iterdir", "rglob"}


def depends_on_surroundings(item):
    """Return whether a test starts a command or process, or lists the checkout, where ``runs`` and ``own`` are.

    The fixtures, functions, classes and collections of the tests' package that it names count as its own code.
    """
    package = _package_of(item.module)
    todo = [item.function, *_fixtures(item)]
    todo += [mark.args for mark in item.iter_markers("parametrize")]
    seen = set()
    while todo:
        for function in _functions(todo.pop(), package):
            if function in seen:
                continue
            seen.add(function)
            used = _used(function)
            if any(map(_starts, used)) or (_lists(function) and any(map(_is_root, used))):
                return True
            todo.append(used)
    return False


def _starts(value):
    name = value if isinstance(value, str) else _module_of(value)
    return f"{name}.".startswith(tuple(f"{starter}." for starter in STARTERS))


def _lists(function):
    return not LISTS.isdisjoint(_names(function.__code__))


def _is_root(value):
    return isinstance(value, Path) and value == ROOT


def _fixtures(item):
    """Return the fixtures of a test that its module defines, or a ``conftest.py`` in its folder or above."""
    places = [item.module]
    folder = item.module.__name__
    while folder:
        folder = folder.rpartition(".")[0]
        places.append(sys.modules.get(f"{folder}.conftest"))
    return [
        next((getattr(place, name) for place in places if hasattr(place, name)), None) for name in item.fixturenames
    ]


def _functions(value, package):
    """Return the functions of a package that a value is or holds: itself, a class's methods, a collection's values."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return [function for part in value for function in _functions(part, package)]

    value = inspect.unwrap(getattr(value, "fget", None) or value)  # a property's function, or a fixture's
    if _package_of(value) != package:
        return []
    if isinstance(value, type):
        return _functions([*vars(value).values(), *value.__bases__], package)
    return [value] if isinstance(value, FunctionType) else []


@cache
def _used(function):
    """Return what a function uses: its names, their values, attributes of modules, and values around its definition."""
    names = _names(function.__code__)
    values = [*names, *(sys.modules[name] for name in names if name in sys.modules)]  # modules that it imports itself
    values += [function.__globals__[name] for name in names if name in function.__globals__]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    for module in [value for value in values if isinstance(value, ModuleType)]:
        if _package_of(module) in ("lit_video", _package_of(function)):
            values += [getattr(module, name) for name in names if hasattr(module, name)]
    return values


@cache
def _names(code):
    """Return the names in a function's code, also in the functions inside it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return {*code.co_names}.union(*map(_names, inner))


def _module_of(value):
    """Return the name of a module, or of the module that defines a function or class."""
    return value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))


def _package_of(value):
    return _module_of(value).partition(".")[0]
