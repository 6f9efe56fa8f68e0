"""Names of classes and numeric settings, read from the source code, because importing torch takes seconds."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean

PACKAGE = Path(__file__).parents[1]
FOLDERS = {"data": "datamodules", "dataset": "datamodules", "model": "modules"}
BASES = {"VideoDataModule", "AnnotatedVideos", "VideoClassifier"}


def refuse_unknown_class(setting: str, name: str) -> None:
    """Refuse a setting such as ``data`` or ``model.help`` that names no class of this package; list the classes."""
    folder = FOLDERS.get(setting.removesuffix(".help").removesuffix(".class_path"))
    if not folder or name == "null" or not name.isidentifier() or Path(name).is_file():
        return
    nodes = ast.parse((PACKAGE / folder / "__init__.py").read_text(encoding="utf-8")).body
    known = list[str]()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and f".{folder}." in str(node.module):
            known += [each.name for each in node.names if each.name not in BASES]
    if name not in known:
        near, there = did_you_mean(name, known), ", ".join(sorted(known))
        raise UserError(f"{setting}: no such class: {name}{near}; there are {there}")


def refuse_wrong_number(setting: str, text: str) -> None:
    """Refuse text for a setting that every class declares as a number, such as ``model.optimization.lr``."""
    try:
        float(text)
    except ValueError:
        named = text and text.lower() not in ("null", "none")
        if named and setting.replace("init_args.", "") in _numbers():  # slow, so last
            raise UserError(f"{setting}: expected a number, got {text}") from None


@cache
def _numbers() -> set[str]:
    """Return the settings that every class declares as a number, optional or not."""
    numbers: set[str] = set()
    others: set[str] = set()
    for setting, annotation in _annotated():
        kinds = {*ast.unparse(annotation).split(" | ")} - {"None"}
        (numbers if kinds and kinds <= {"int", "float"} else others).add(setting)
    return numbers - others


def _annotated() -> Iterator[tuple[str, ast.expr]]:
    """Yield the settings of models and data sets, with their annotations."""
    files = [(PACKAGE / "modules/optimization.py", "model.optimization")]
    for key in ("model", "data"):
        files += [(path, key) for path in (PACKAGE / FOLDERS[key]).glob("*.py")]
    for path, prefix in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                yield from ((f"{prefix}.{one.arg}", one.annotation) for one in node.args.args if one.annotation)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield f"{prefix}.{node.target.id}", node.annotation
