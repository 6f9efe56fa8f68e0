"""Test the site: drawings are readable on light and dark pages, and notebooks are shown as they are."""

import json
import re
import runpy

import pytest

from tests.conftest import ROOT

STYLE = (ROOT / "docs/site.css").read_text(encoding="utf-8")
SITE_FILES = ROOT / "docs/scripts/site_files.py"
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


def test_a_notebook_is_shown_with_its_outputs_under_its_own_title(tmp_path, monkeypatch):
    site_files = pytest.importorskip(
        "mkdocs.structure.files", reason="mkdocs is not installed: make docs"
    ) and runpy.run_path(str(SITE_FILES))
    table = {"text/markdown": ["| a |\n", "| --- |\n"], "text/plain": ["<IPython.core.display.Markdown object>"]}
    printed = [{"output_type": "stream", "name": "stdout", "text": [f"line {i}\n"]} for i in range(2)]
    maps = {"text/html": ['<img src="data:,">'], "text/plain": ["maps of 8 frames"]}
    cells = [
        {"cell_type": "markdown", "source": ["# Its title\n", "\n", "About."]},
        {"cell_type": "code", "source": ["draw()"], "outputs": [{"data": table}, *printed, {"data": maps}]},
    ]
    done = tmp_path / "build/notebooks/1_made.ipynb"
    done.parent.mkdir(parents=True)
    done.write_text(json.dumps({"cells": cells}))
    notebook = tmp_path / "notebooks/1_made.ipynb"
    notebook.parent.mkdir()
    notebook.write_text(json.dumps({"cells": cells[:1]}))
    shown = site_files["shown"]
    monkeypatch.setitem(shown.__globals__, "ROOT", tmp_path)

    page = shown(notebook)
    assert page.startswith("# Its title\n") and page.count("# ") == 1 and "About." in page
    assert "| --- |" in page and "IPython" not in page
    assert "line 0\nline 1\n" in page
    assert '<img src="data:,">' in page and "maps of 8" not in page

    done.unlink()
    assert "make pictures" in shown(notebook)
