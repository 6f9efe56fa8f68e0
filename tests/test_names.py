"""Test that a public name of the package means one thing: no two modules define it."""

from benchmarks.structure import modules_of, names_defined_again
from tests.conftest import ROOT

# every module of a command or of a group of commands has these, see commands/parser.py
COMMAND_PARTS = {"COMMANDS", "add_arguments", "run"}


def test_each_public_name_is_defined_once():
    names = names_defined_again(modules_of(ROOT / "lit_video"))
    assert set(names) == COMMAND_PARTS
