"""Take outputs, execution counts and machine-made metadata out of notebooks: ``strip_outputs.py NOTEBOOK ...``.

Exit status 1 if a notebook was changed, as hooks of pre-commit do.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def main(paths: Sequence[str]) -> int:
    """Strip the notebooks in place."""
    changed = False
    for path in map(Path, paths):
        before = path.read_text(encoding="utf-8")
        after = stripped(before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(f"stripped {path}")
            changed = True
    return int(changed)


def stripped(text: str) -> str:
    """A notebook as it is kept."""
    notebook = nbformat.reads(text, as_version=4)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata = METADATA
    written: str = nbformat.writes(notebook)
    return written + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
