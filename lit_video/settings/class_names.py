"""Names of classes, read from the source code, because importing torch takes seconds."""

import ast
from functools import cache
from pathlib import Path

from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean

PACKAGE = Path(__file__).parents[1]
CLASS_FOLDERS = {"data": "datamodules", "dataset": "datamodules", "model": "modules"}
BASES = {"VideoDataModule", "AnnotatedVideos", "VideoClassifier"}
DRAWN_ON_USE = "TemporalSkills"  # the data set that draws its videos into a folder, which may be empty


def refuse_unknown_class(setting: str, name: str) -> None:
    """Refuse a setting such as ``data`` or ``model.help`` that names no class of this package; list the classes."""
    folder = CLASS_FOLDERS.get(setting.removesuffix(".help").removesuffix(".class_path"))
    if not folder or name == "null" or not name.isidentifier() or Path(name).is_file():
        return

    classes = classes_of(folder)
    if name not in classes:
        near = did_you_mean(name, classes)
        raise UserError(f"{setting}: no such class: {name}{near}; there are {', '.join(sorted(classes))}")


@cache
def classes_of(folder: str) -> tuple[str, ...]:
    """Return the names of the classes that a package exports, without its base classes."""
    code = (PACKAGE / folder / "__init__.py").read_text(encoding="utf-8")
    names = list[str]()
    for node in ast.parse(code).body:
        if isinstance(node, ast.ImportFrom) and f".{folder}." in str(node.module):
            names += [alias.name for alias in node.names if alias.name not in BASES]
    return tuple(names)
