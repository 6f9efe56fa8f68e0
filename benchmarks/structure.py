"""Count lines, files and dependencies of a checkout, and draw the layers of its package.

python benchmarks/structure.py [CHECKOUT]     counts of this checkout or of another one
python benchmarks/structure.py --picture      the layers of the contract, as in docs/architecture.md
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def size(folder: Path, *endings: str) -> str:
    """Return the number of lines and files, as text."""
    found = [path for path in folder.rglob("*") if path.suffix in endings]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in found)
    return f"{lines:,} lines in {len(found):,} files"


def settings(checkout: Path) -> dict[str, Any]:
    """Return the content of pyproject.toml."""
    return tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))


def counts(checkout: Path) -> dict[str, str]:
    """Return all counts by name."""
    results = [path for path in (checkout / "benchmarks/results").rglob("*") if path.is_file()]
    return {
        "package": size(checkout / "lit_video", ".py"),
        "tests": size(checkout / "tests", ".py"),
        "benchmarks": size(checkout / "benchmarks", ".py", ".sh"),
        "packages": str(len(list((checkout / "lit_video").glob("*/__init__.py")))),
        "results": f"{len(results):,} files, {sum(path.stat().st_size for path in results) / 1e6:.1f} MB",
        "run-time dependencies": str(len(settings(checkout)["project"]["dependencies"])),
    }


def drawn(checkout: Path) -> Iterator[str]:
    """Yield the lines of the picture, highest layer first: each package and its docstring's first line."""
    contracts = settings(checkout)["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    rule = "─" * 15
    for i, layer in enumerate(layers):
        yield f"├{rule}┤" if i else f"┌{rule}┐"
        for name in map(str.strip, layer.split("|")):
            path = checkout / "lit_video" / name
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            yield f"│ {name:13} │  {docstring.splitlines()[0]}"
    yield f"└{rule}┘"


if __name__ == "__main__":
    here = Path(__file__).parents[1]
    if sys.argv[1:] == ["--picture"]:
        print("\n".join(drawn(here)))
    else:
        for what, count in counts(Path(sys.argv[1]) if sys.argv[1:] else here).items():
            print(f"{what:22} {count}")
