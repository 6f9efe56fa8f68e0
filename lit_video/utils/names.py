"""Names of data sets, models and schemes, read in the sources: importing torch takes seconds."""

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
    if folder and name.isidentifier() and name not in (known := classes(folder)) and not Path(name).is_file():
        raise UserError(f"{setting}: no such class: {name}{did_you_mean(name, known)}; there are {', '.join(known)}")


def classes(folder: str) -> list[str]:
    """Return the names of the data sets or models of this package."""
    imports = [node for node in _body(f"{folder}/__init__.py") if isinstance(node, ast.ImportFrom)]
    own = [node for node in imports if str(node.module).startswith(f"lit_video.{folder}.")]
    return sorted({each.name for node in own for each in node.names} - BASES)


def keys(file: str, name: str) -> list[str]:
    """Return the keys of a dictionary in a source."""
    assigned = [node for node in _body(file) if isinstance(node, ast.AnnAssign)]
    (found,) = [node.value for node in assigned if ast.unparse(node.target) == name]
    assert isinstance(found, ast.Dict)
    return [ast.literal_eval(key) for key in found.keys if key]


def _body(file: str) -> list[ast.stmt]:
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body
