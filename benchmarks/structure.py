"""Draw the layers of the package, as in docs/architecture.md: python benchmarks/structure.py."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path


def drawn(checkout: Path) -> Iterator[str]:
    """Lines of the picture: each package with the first line of its docstring, the highest layer first."""
    settings = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    rule = "─" * 15
    for i, layer in enumerate(layers):
        yield f"├{rule}┤" if i else f"┌{rule}┐"
        for name in map(str.strip, layer.split("|")):
            place = checkout / "lit_video" / name
            file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            yield f"│ {name:13} │  {said.splitlines()[0]}"
    yield f"└{rule}┘"


if __name__ == "__main__":
    print("\n".join(drawn(Path(__file__).parents[1])))
