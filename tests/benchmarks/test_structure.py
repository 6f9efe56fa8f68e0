"""Test the measures of code: each sees its kind of place, and nothing beside it."""

import ast

import pytest

from benchmarks.structure import Module, measures, names_defined_again, node_count, report

LINES = "    x = x + 1\n" * 14


def measured(text):
    return measures([Module(text)])


@pytest.mark.parametrize(
    ("body", "share"),
    [
        (f'    """Return."""\n{LINES}', "100 %"),
        (f'    """Return.\n\n    x: a number.\n    """\n{LINES}', "100 %"),  # a blank line of a docstring
        (f'    y = """a\n\nb"""\n{LINES}', "100 %"),  # blank line of a text
        (f"{LINES}\n    return x\n", "0 %"),
    ],
)
def test_functions_without_a_blank_line(body, share):
    assert measured(f"def f(x):\n{body}")["... without a blank line"] == share


def test_short_functions_need_no_blank_line():
    assert measured("def f(x):\n    return x\n")["functions of 15+ lines"] == "0"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("a, b = 1, 2", "1000.0"),
        ("a, b = f()", "0.0"),
        ("a, (b, c) = x, y", "1000.0"),
        ("a = 1, 2", "0.0"),
        ("for a, b in ((1, 2), (3, 4)): pass", "0.0"),
    ],
)
def test_tuples_assigned_to_tuples(statement, expected):
    assert measured(statement)["tuples assigned to tuples, per 1,000 lines"] == expected


@pytest.mark.parametrize(
    ("signature", "count"),
    [("a, b, c, d", 1), ("a, b, c, *, d", 0), ("self, a, b, c", 0), ("self, a, b, c, d", 1), ("a, b, /, c, d", 1)],
)
def test_positional_parameters(signature, count):
    assert measured(f"def f({signature}): ...")["functions with 4+ positional parameters"] == f"{count} of 1"


def test_other_places():
    values = measured("x = [a for a in f(1, 2, 3, 4, 5, 6, *z)] if y else map(str, {b: b for b in c})")
    assert values["comprehensions, per 1,000 lines"] == "2000.0"
    assert values["conditional expressions, per 1,000 lines"] == "1000.0"
    assert values["map and filter, per 1,000 lines"] == "1000.0"
    assert values["calls with 7+ positional values"] == "1"


def test_imports_are_counted_by_lines_wherever_they_stand():
    text = "import a\nfrom b import (\n    c,\n)\n\n\ndef f():\n    import d\n"
    assert measured(text)["lines of imports"] == "62.5 %"


def test_lines_of_code_are_those_of_statements():
    text = 'def f(\n    x,\n):\n    """Return.\n\n    x: a number.\n    """\n    # why\n    y = x\n\n    return y\n'
    assert measured(text)["lines of code a function"] == "5.0"


def test_private_functions_with_one_caller():
    text = """
def _once(): ...
def _twice(): ...
def _never(): ...
def _passed(): ...
def public(): return _once() + _twice() + _twice() + sum(map(_passed, ()))
class C:
    def _method(self): ...
    def other(self): return self._method()
"""
    assert measured(text)["private functions with one caller, per 1,000 lines"] == f"{1000 / 9:.1f}"


def test_names_defined_again_are_public_and_of_two_modules():
    texts = ("def f(): ...\ndef f(): ...\n_A = B = 1", "class f: ...\n_A: int = 1\nC = 1", "def g():\n    C = 1")
    assert names_defined_again(map(Module, texts)) == ["f"]


@pytest.mark.parametrize(
    ("plain", "same"),
    [
        ("def f(x):\n    return g(x + 1)", "def f(x):\n    y = x + 1\n    return g(y)"),
        ("def f(x):\n    return g(x)", "def f(x: dict[str, int]) -> list[int]:\n    return g(x)"),
        ("f(x, y)", "f(x, b=y)"),
        ("def f(a, b): ...", "def f(a, *, b=None): ..."),
    ],
)
def test_a_name_an_annotation_and_a_keyword_are_no_more_to_understand(plain, same):
    extra = "None" in same  # a default is one node
    assert node_count(ast.parse(same)) == node_count(ast.parse(plain)) + extra


def test_a_name_used_twice_counts():
    once = "def f(x):\n    y = x\n    return g(y)"
    twice = "def f(x):\n    y = x\n    return g(y, y)"
    assert node_count(ast.parse(twice)) == node_count(ast.parse(once)) + 4  # the assignment, two names, one more use


def test_folders_and_installed_packages_stand_side_by_side(tmp_path):
    (tmp_path / "a.py").write_text("x, y = 1, 2\n")
    header, lines, *_ = report([str(tmp_path), "packaging"])
    assert header.split() == [str(tmp_path), "packaging"]
    assert lines.split()[:2] == ["lines", "1"]
    with pytest.raises(SystemExit, match="no_such_package"):
        list(report(["no_such_package"]))
