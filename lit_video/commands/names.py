"""Names of data sets and models, read in the sources: importing torch takes seconds."""

import ast
from pathlib import Path

from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean

PACKAGE = Path(__file__).parents[1]
FOLDERS = {"data": "datamodules", "dataset": "datamodules", "model": "modules"}
BASES = {"VideoDataModule", "AnnotatedVideos", "VideoClassifier"}


def refuse_unknown_class(setting: str, name: str) -> None:
    """Refuse a setting such as ``data``, ``model.class_path`` or ``model.help`` that names no class of this package.

    Raises:
        UserError: names the classes.
    """
    folder = FOLDERS.get(setting.removesuffix(".help").removesuffix(".class_path"))
    if not folder or not name.isidentifier() or Path(name).is_file():
        return
    nodes = ast.parse((PACKAGE / folder / "__init__.py").read_text(encoding="utf-8")).body
    own = [node for node in nodes if isinstance(node, ast.ImportFrom) and f".{folder}." in str(node.module)]
    known = sorted({each.name for node in own for each in node.names} - BASES)
    if name not in known:
        raise UserError(f"{setting}: no such class: {name}{did_you_mean(name, known)}; there are {', '.join(known)}")
