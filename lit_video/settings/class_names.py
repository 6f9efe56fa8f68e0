"""Names of classes, read from the source code, because importing torch takes seconds."""

import ast
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
    known = list[str]()
    for node in ast.parse((PACKAGE / folder / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and f".{folder}." in str(node.module):
            known += [each.name for each in node.names if each.name not in BASES]
    if name not in known:
        near, there = did_you_mean(name, known), ", ".join(sorted(known))
        raise UserError(f"{setting}: no such class: {name}{near}; there are {there}")
