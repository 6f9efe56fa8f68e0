"""Test the rule that marks tests as ``around``, on planted tests and on this file's own."""

import subprocess
from types import SimpleNamespace

import pytest

from lit_video.tables.reading import read_table
from tests.around import depends_on_surroundings
from tests.conftest import ROOT, pytest_collection_modifyitems

pytest_plugins = ["pytester"]

HELPERS = """
import subprocess
from lit_video.__main__ import main
from tests.conftest import ROOT

def listed():
    return sorted(ROOT.iterdir())

class Program:
    @property
    def output(self):
        return subprocess.run(["true"])

def add(first, second):
    return first + second
"""
CONFTEST = """
import pytest
from planted.helpers import main

@pytest.fixture
def page(tmp_path):
    return main(["report", "-o", str(tmp_path)])

@pytest.fixture
def number():
    return 1
"""
AROUND = {
    "a command": "def test(): helpers.main([])",
    "a function of one": "def test(): lit_video.table('ablation_tw')",
    "a function of one that is imported inside": "def test():\n    from lit_video.api.fit import fit\n    fit('a')",
    "a function of one, of the package": "def test():\n    from lit_video import fit\n    fit('a')",
    "a helper that is imported inside": "def test():\n    from planted.helpers import listed\n    listed()",
    "a process": "def test(): subprocess.run(['true'])",
    "a function inside": "def test():\n    def inner(): return subprocess.run(['true'])\n    inner()",
    "a helper that lists the checkout": "def test(): assert helpers.listed()",
    "a class of the helpers": "def test(): assert helpers.Program().output",
    "a fixture": "def test(page): assert page",
    "a fixture of a fixture": "import pytest\n@pytest.fixture\ndef text(page): return page\ndef test(text): pass",
    "a parameter": "import pytest\n@pytest.mark.parametrize('f', [lambda: lit_video.doctor()])\ndef test(f): f()",
    "a list": "CALLS = {'a': (lambda: lit_video.doctor(), 1)}\ndef test(): CALLS['a'][0]()",
}
ALONE = {
    "arithmetic": "def test(): assert helpers.add(1, 2) == 3",
    "a fixture without a command": "def test(number): assert number",
    "a folder of its own": "def test(tmp_path): assert not [*tmp_path.iterdir()]",
    "a file of the checkout": "def test(): assert (helpers.ROOT / 'README.md').read_text()",
    "a name like that of a module": "def test():\n    table = subprocess_of = 1\n    assert table",
    "a function below the commands": "def test(): assert lit_video.read_table(['ablation_tw'])",
}


class Rule:
    """Plugin that asks the rule about every test that is collected."""

    def pytest_collection_finish(self, session):
        self.answers = {item.path.stem: depends_on_surroundings(item) for item in session.items}


@pytest.fixture
def ask(pytester):
    """Function that plants tests, each in a module beside helpers and fixtures, and returns the rule's answers."""
    folder = pytester.mkpydir("planted")
    (folder / "helpers.py").write_text(HELPERS)
    (folder / "conftest.py").write_text(CONFTEST)

    def of_tests(codes):
        for name, code in codes.items():
            path = folder / f"test_{name.replace(' ', '_')}.py"
            path.write_text(f"import subprocess, lit_video\nfrom planted import helpers\n{code}\n")
        rule = Rule()
        pytester.inline_run("--collect-only", "-p", "no:cacheprovider", folder, plugins=[rule])
        return {name: rule.answers[f"test_{name.replace(' ', '_')}"] for name in codes}

    return of_tests


def test_a_test_that_starts_something_or_lists_the_checkout_depends_on_it(ask):
    assert ask(AROUND) == dict.fromkeys(AROUND, True)


def test_a_test_of_its_own_data_depends_on_nothing_around(ask):
    assert ask(ALONE) == dict.fromkeys(ALONE, False)


def is_marked(node):
    """Return whether a test is marked if tests that depend on what is around them are asked for."""
    config = SimpleNamespace(option=SimpleNamespace(markexpr="around and not slow"))
    pytest_collection_modifyitems([node], config)
    return node.get_closest_marker("around") is not None


def test_a_test_that_starts_a_process_is_marked(request):
    subprocess.run(["true"], check=True)
    assert is_marked(request.node)


def test_a_test_that_reads_a_table_is_not_marked(request):
    assert read_table([ROOT / "experiments/ablation_tw.yaml"]).rows
    assert not is_marked(request.node)
