"""Test that every module of the package is reached from something that a user can name, by the imports in the files."""

import re
from collections.abc import Iterator

import lit_video
from lit_video.commands.parser import COMMANDS
from tests.conftest import EXPERIMENTS, ROOT
from tests.imports import modules_of, names_imported

DOTTED = re.compile(r"\blit_video(?:\.\w+)+")


FILES = modules_of("lit_video")


def modules_in(text: str) -> Iterator[str]:
    """Yield the modules of the dotted names in a text, such as that of a class path."""
    for name in DOTTED.findall(text):
        while name not in FILES:
            name = name.rpartition(".")[0]
        yield name


def imported(module: str) -> set[str]:
    """Return the modules of this package that a module imports, in functions too, and the packages around it."""
    return (names_imported(FILES[module]) | {module.rpartition(".")[0]}) & FILES.keys()


def reached(modules: set[str]) -> set[str]:
    """Return modules with all that they import, and what these import."""
    waiting = list(modules)
    seen = set()
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += imported(module)
    return seen


def of_the_api() -> set[str]:
    """Return the modules of ``lit_video.__all__``."""
    found = {lit_video.MODULES[name] or name for name in lit_video.__all__}
    return {f"lit_video.{name}" for name in found}


def of_commands() -> set[str]:
    """Return the modules of the commands."""
    return {"lit_video.__main__", *(f"lit_video.commands.{name}" for name in COMMANDS)}


def of_files() -> set[str]:
    """Return the modules of class paths in the tables' files, and those that the API's pages show."""
    files = [*EXPERIMENTS.rglob("*.yaml"), ROOT / "docs/scripts/site_files.py"]
    return {module for path in files for module in modules_in(path.read_text(encoding="utf-8"))}


def unreached() -> list[str]:
    """Return the modules that nothing leads to which a user can name."""
    return sorted(FILES.keys() - reached(of_the_api() | of_commands() | of_files()))


def test_every_module_is_reached_from_what_a_user_can_name():
    assert not unreached(), "no name that a user can write leads to " + ", ".join(unreached())


def test_a_module_that_only_type_checkers_and_its_neighbours_reach_is_named(tmp_path, monkeypatch):
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from lit_video.tables import second\n")
    second.write_text("from lit_video.tables import first\n")
    monkeypatch.setitem(FILES, "lit_video.tables.first", first)
    monkeypatch.setitem(FILES, "lit_video.tables.second", second)
    assert unreached() == ["lit_video.tables.first", "lit_video.tables.second"]
