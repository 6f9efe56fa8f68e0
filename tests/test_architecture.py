"""Test docs/architecture.md: its picture is that of the import contract, and named files exist."""

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_picture_is_that_of_the_contract():
    command = [sys.executable, ROOT / "benchmarks" / "structure.py", "--picture"]
    drawn = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    assert f"```\n{drawn}```" in PAGE


def test_files_that_code_and_pages_name_exist():
    """Search code and pages; NAME and X stand for any name."""
    named = re.compile(r"\b(?:lit_video|tests|experiments|benchmarks)/[\w/]+\.(?:py|yaml|html|json)\b")
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("notebooks/*.ipynb"), ROOT / "Makefile"]
    pages += [path for folder in ("lit_video", "benchmarks", "experiments") for path in (ROOT / folder).rglob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    placeholders = ("NAME", "X")
    missing = {name for name in named.findall(text) if not (ROOT / name).exists()}
    missing -= {name for name in missing if Path(name).stem in placeholders}
    assert not missing
