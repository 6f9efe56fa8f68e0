"""Import of users' own classes by file or module and class: attention schemes, parts of networks, losses, metrics."""

import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from lit_video.attention.scheme import Scheme
from lit_video.errors import UserError
from lit_video.modules.losses import ClipLoss
from lit_video.modules.metrics import VideoAccuracy
from lit_video.network.embedding import Embedding
from lit_video.network.parts import Aggregation, Readout
from lit_video.utils.class_paths import class_path

_PACKAGE = "lit_video."


# model setting -> the name of what it takes, and the class that this extends
KINDS: dict[str, tuple[str, type]] = {
    "attention_type": ("scheme", Scheme),
    "embedding": ("embedding", Embedding),
    "readout": ("readout", Readout),
    "aggregation": ("aggregation", Aggregation),
    "loss": ("loss", ClipLoss),
    "metric": ("metric", VideoAccuracy),
}


def import_scheme(text: str) -> str:
    """Import a scheme, see :func:`import_class`."""
    return import_class(text, "attention_type")


def import_class(text: str, setting: str) -> str:
    """Import the module of a model setting's class, which runs its code; return the name ``MODULE.CLASS``.

    ``text`` is ``FILE.py:CLASS``, ``FILE.py`` that holds one such class, or ``MODULE.CLASS`` of a module that Python
    finds.
    """
    noun, base = KINDS[setting]
    path, _, name = text.rpartition(":") if ".py:" in text else (text, "", "")
    if path.endswith(".py"):
        module = module_of_file(Path(path))
    else:
        path, _, name = text.rpartition(".")
        try:
            module = import_module(path)
        except (ModuleNotFoundError, ValueError, TypeError) as error:
            raise ValueError(f"{text}: no module {path or text!r} is found; give FILE.py:CLASS") from error

    classes = _classes_of(module, base)
    if name and name not in classes:
        has = f"{module.__name__} has no {noun} {name}; its {noun}s: {', '.join(classes) or 'none'}"
        raise ValueError(f"{text}: {has} (a {noun} extends {class_path(base)})")
    if not classes:
        raise ValueError(f"{text} holds no {noun}: a subclass of {class_path(base)} (docs/adding.md)")
    if not name and len(classes) != 1:
        raise ValueError(f"{text} has {len(classes)} {noun}s ({', '.join(classes)}); give {path}:CLASS")
    return class_path(classes[name or next(iter(classes))])


def import_code(text: str) -> str:
    """Import the classes of a run from ``FILE.py``, of whatever setting; return ``text``."""
    path = text.rpartition(":")[0] if ".py:" in text else text
    if not path.endswith(".py"):
        for setting in KINDS:
            with suppress(ValueError):
                return import_class(text, setting)
        raise ValueError(f"{text}: no class that a model takes is found; give FILE.py")

    module = module_of_file(Path(path))
    if not any(_classes_of(module, base) for _, base in KINDS.values()):
        nouns = ", ".join(noun for noun, _ in KINDS.values())
        raise ValueError(f"{text} holds no class that a model takes: {nouns} (docs/adding.md)")
    return text


def import_named(arguments: MutableMapping[str, Any]) -> None:
    """Import the classes that a model's arguments name, and write their names ``MODULE.CLASS`` in their places.

    Raises:
        UserError: one of them is not found, or is of another kind.
    """
    for setting, name in names_of(arguments).items():
        try:
            arguments[setting] = import_class(name, setting)
        except ValueError as error:
            raise UserError(f"model.{setting}: {error}") from error


def names_of(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the classes that a model's arguments name, by setting."""
    named = {}
    for setting in KINDS:
        name = arguments.get(setting)
        if isinstance(name, str) and "." in name:
            named[setting] = name
    return named


def is_known(name: str) -> bool:
    """Return whether ``MODULE.CLASS`` is in this package or in a module that is already imported."""
    words = name.replace(".", "").isidentifier() and not name.endswith(".py")
    return words and (name.startswith(_PACKAGE) or name.rpartition(".")[0] in sys.modules)


def source_file(name: str) -> Path | None:
    """Return the file of a user's class that has been imported; ``None`` for a class of this package."""
    file = getattr(sys.modules.get(name.rpartition(".")[0]), "__file__", None)
    return Path(file) if file and not name.startswith(_PACKAGE) else None


def _classes_of(module: ModuleType, base: type) -> dict[str, type]:
    """Return the classes of a module that extend a base, by name, without those that it imports."""
    classes = {}
    for key, kind in vars(module).items():
        if isinstance(kind, type) and issubclass(kind, base) and kind.__module__ == module.__name__:
            classes[key] = kind
    return classes


def module_of_file(path: Path) -> ModuleType:
    """Import a user's file as the module of its name, which runs its code.

    Raises:
        ValueError: there is no such file, its name is another module's, or its code fails.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file")

    name = path.stem
    loaded = sys.modules.get(name)
    spec = None
    if loaded:
        spec = loaded.__spec__
    elif name.isidentifier():
        spec = find_spec(name)
    if spec and not (spec.origin and Path(spec.origin).resolve() == path.resolve()):
        raise ValueError(f"{path}: another module is called {name}; give the file another name")
    if loaded:
        return loaded

    spec = spec_from_file_location(name, path.resolve())
    assert spec and spec.loader
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        line = error.lineno if isinstance(error, SyntaxError) else extract_tb(error.__traceback__)[-1].lineno
        raise ValueError(f"{path} cannot be imported, line {line}: {type(error).__name__}: {error}") from error
    return module
