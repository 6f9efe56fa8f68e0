"""Test that no negative zero is printed: on another CPU the sign of a rounded zero may be another."""

import re

import pytest

from lit_video.tables.statistics import Interval
from tests.conftest import ROOT

FOLDERS = ("benchmarks", "docs/scripts", "lit_video", "notebooks", "tests")
KINDS = (".html", ".ipynb", ".js", ".py", ".yaml")
# a signed format of a float, +.1f or +7.2%, without the option z: in an f-string, a template or an argument of format
SIGNED = re.compile(r"""[:%"'](?:.?[<>=^])?\+#?0?\d*[,_]?(?:\.\d+)?[eEfFgGn%](?!\w)""")
NEGATIVE_ZERO = re.compile(r"(?<![\w.-])-0(?:\.0+)?(?![\w.])")


def sources():
    """Return the text of every file that may hold a format."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in KINDS and "results" not in path.parts
    }


def test_every_signed_format_leaves_out_the_sign_of_zero():
    """Ask for {x:+z.1f}; % formats have no such option."""
    found = [f"{name}: {match[0]}" for name, text in sources().items() for match in SIGNED.finditer(text)]
    assert not found


@pytest.mark.parametrize(
    "text", ["{x:+" + ".1f}", "{x:>+" + "7.2%}", '"%+' + '.1f"|format(x)', 'format(x, "+' + '.2g")']
)
def test_a_format_without_the_option_is_found(text):
    assert SIGNED.search(text)
    assert not SIGNED.search(text.replace("+", "+z")) and not SIGNED.search("{x:+d}")


def test_a_difference_that_rounds_to_zero_has_the_sign_of_zero():
    assert str(Interval(-0.04, -5.7, 5.7)) == str(Interval(0.0, -5.7, 5.7)) == "+0.0 [-5.7, +5.7]"


def test_no_page_has_a_negative_zero():
    pages = [ROOT / "README.md", ROOT / "REPRODUCE.md", *sorted(ROOT.glob("docs/**/*.md"))]
    assert [str(page) for page in pages if NEGATIVE_ZERO.search(page.read_text(encoding="utf-8"))] == []
