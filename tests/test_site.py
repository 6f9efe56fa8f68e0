"""Test that the drawings of the pages are readable on light and dark pages of the site."""

import re

import pytest

from tests.conftest import ROOT

STYLE = (ROOT / "docs/site.css").read_text(encoding="utf-8")
DRAWINGS = sorted(ROOT.glob("docs/*.svg"))


def luminance(colour):
    """Return the relative luminance of a colour such as #1d5fc4, from 0 to 1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.name)
def test_a_drawing_has_colours_for_dark_pages(drawing):
    text = drawing.read_text(encoding="utf-8")
    (dark,) = re.findall(r"@media ?\(prefers-color-scheme: ?dark\) ?\{(.*?\}) ?\}", text, re.DOTALL)
    drawn = {*re.findall(r'style="fill: (#[0-9a-f]{6})', text)}
    changed = dict(re.findall(r'\[style\*="fill: (#[0-9a-f]{6})"\] \{ fill: (#[0-9a-f]{6}) !important \}', dark))
    assert drawn <= changed.keys()
    # the colour of least contrast on white has little contrast on black too
    assert [colour for colour in drawn if luminance(colour) > 0.6 and luminance(changed[colour]) > 0.2] == []


def test_the_site_shows_drawings_in_the_colours_of_its_page():
    rules = dict(re.findall(r"^([^\n{]+) \{ ([^}]+) \}", STYLE, re.MULTILINE))
    assert "color-scheme: light" in rules[".md-typeset img"]
    assert rules['.md-typeset img[src$=".svg"]'] == "background: none;"
    assert rules['[data-md-color-scheme="slate"] .md-typeset img[src$=".svg"]'] == "color-scheme: dark;"
