"""Pages that a script writes, and that a test compares with the script's text."""

import sys
from pathlib import Path


def write_or_compare(page: Path, text: str) -> int:
    """Write a page, or with ``--check`` only compare it; return 1 if it is out of date."""
    if "--check" in sys.argv[1:]:
        return int(page.read_text(encoding="utf-8") != text)
    page.write_text(text, encoding="utf-8")
    return 0
