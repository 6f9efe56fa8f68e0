"""Test docs/glossary.md: terms in order, two lines each, each used by code or other pages."""

import re

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^- \*\*(.+?)\*\*: (.*?)(?=^- |\Z)", re.DOTALL | re.MULTILINE)
ENTRIES = dict(ENTRY.findall(PAGE))
ASKED = {
    *("table", "row", "scale", "recipe", "claim", "follow-up", "pack", "manifest", "plan", "skill", "reach", "view"),
    *("control", "drawing", "floor", "bound", "direction", "recognised"),
}


@pytest.fixture(scope="module")
def text():
    """Return the code and the pages besides the glossary, in lower case."""
    files = [*(ROOT / "lit_video").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    others = [path for path in files if path.name != "glossary.md"]
    return "\n".join(path.read_text(encoding="utf-8") for path in others).lower()


def test_terms_are_there_and_in_order():
    terms = [term for term, _ in ENTRY.findall(PAGE)]
    assert terms == sorted(terms) and len(terms) == len(ENTRIES)
    assert not ASKED - ENTRIES.keys()


@pytest.mark.parametrize("term", ENTRIES)
def test_a_term_is_used_and_explained_in_two_lines_with_the_fields_word(term, text):
    assert re.search(rf"\b{re.escape(term)}s?\b", text)
    lines = ENTRIES[term].strip().splitlines()
    assert len(lines) <= 2 and lines[-1].endswith("]")


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_pages_lead_to_the_glossary(page):
    assert "glossary.md)" in (ROOT / page).read_text(encoding="utf-8")
