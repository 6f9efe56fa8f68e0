"""Draw the layers of the package for docs/architecture.md: ``python docs/scripts/layers_picture.py``."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def drawn() -> Iterator[str]:
    """Yield the lines: each package with the first line of its docstring, the highest layer first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    rule = "─" * 15
    for i, layer in enumerate(layers):
        yield f"├{rule}┤" if i else f"┌{rule}┐"
        for name in map(str.strip, layer.split("|")):
            path = ROOT / "lit_video" / name
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            yield f"│ {name:13} │  {text.splitlines()[0]}"
    yield f"└{rule}┘"


if __name__ == "__main__":
    print("\n".join(drawn()))
