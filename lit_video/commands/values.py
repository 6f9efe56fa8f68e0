"""Check that settings which are numbers have one, without importing torch: by the annotations in their sources."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from lit_video.errors import UserError

NUMBERS = {"int", "float"}
PACKAGE = Path(__file__).parents[1]


def refuse_wrong_numbers(settings: Sequence[str]) -> None:
    """Refuse a flag such as ``--model.optimization.lr=abc`` whose setting is a number.

    Raises:
        UserError: names the setting and the value.
    """
    for word in settings:
        key, _, text = word.lstrip("-").replace("init_args.", "").partition("=")
        if text and text.lower() not in ("null", "none") and key in numbers():
            try:
                float(text)
            except ValueError:
                raise UserError(f"{key}: expected a number, got {text}") from None


@cache
def numbers() -> set[str]:
    """Return the settings that are a number, or a number or nothing, in every class that has them."""
    kinds: dict[str, bool] = {}
    for key, annotation in _annotated():
        names = {part.strip() for part in ast.unparse(annotation).split("|")} - {"None"}
        kinds[key] = kinds.get(key, True) and bool(names) and names <= NUMBERS
    return {key for key, number in kinds.items() if number}


def _annotated() -> Iterator[tuple[str, ast.expr]]:
    """Yield the settings of models and data sets, with their annotations."""
    files = [("model", path) for path in (PACKAGE / "modules").glob("*.py")]
    files += [("data", path) for path in (PACKAGE / "datamodules").glob("*.py")]
    files += [("model.optimization", PACKAGE / "modules/optimization.py")]
    for prefix, path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                yield from ((f"{prefix}.{one.arg}", one.annotation) for one in node.args.args if one.annotation)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield f"{prefix}.{node.target.id}", node.annotation
