"""Test docs/architecture.md: its picture is that of the import contract, and named files exist."""

import ast
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


def test_private_names_of_libraries_are_listed_and_nothing_is_patched():
    """Search imports of private modules and names, and of a library that patches others."""
    unlisted = []
    for path in sorted((ROOT / "lit_video").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.module is None or node.module == "__future__":
                continue
            names = [*node.module.split("."), *(name.name for name in node.names)]
            private = [name for name in names if name.startswith("_") and not name.startswith("__")]
            if node.module.startswith("unittest") or any(name not in PAGE for name in private):
                unlisted.append((str(path.relative_to(ROOT)), node.module))
    assert not unlisted
