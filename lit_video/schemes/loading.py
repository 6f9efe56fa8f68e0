"""Import of users' attention schemes by file or module and class."""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from lit_video.attention.scheme import Scheme
from lit_video.network.timesformer import PACKAGE
from lit_video.utils.class_paths import class_path


def import_scheme(text: str) -> str:
    """Import a scheme's module, which runs its code; return the scheme's name, ``MODULE.CLASS``.

    ``text`` is ``FILE.py:CLASS``, ``FILE.py`` that holds one scheme, or ``MODULE.CLASS`` of a module that Python finds.
    """
    path, _, name = text.rpartition(":") if ".py:" in text else (text, "", "")
    if path.endswith(".py"):
        module = _module_of(Path(path))
    else:
        path, _, name = text.rpartition(".")
        try:
            module = import_module(path)
        except (ModuleNotFoundError, ValueError, TypeError) as error:
            raise ValueError(f"{text}: no module {path or text!r} is found; give FILE.py:CLASS") from error

    schemes = {}
    for key, kind in vars(module).items():
        if isinstance(kind, type) and issubclass(kind, Scheme) and kind.__module__ == module.__name__:
            schemes[key] = kind

    if name and name not in schemes:
        raise ValueError(f"{text}: {module.__name__} has no scheme {name}; its schemes: {', '.join(schemes) or 'none'}")
    if not schemes:
        raise ValueError(f"{text} holds no scheme: a subclass of lit_video.attention.Scheme (docs/adding.md)")
    if not name and len(schemes) != 1:
        raise ValueError(f"{text} has {len(schemes)} schemes ({', '.join(schemes)}); give {path}:CLASS")
    return class_path(schemes[name or next(iter(schemes))])


def is_known(name: str) -> bool:
    """Return whether ``MODULE.CLASS`` is in this package or in a module that is already imported."""
    words = name.replace(".", "").isidentifier() and not name.endswith(".py")
    return words and (name.startswith(PACKAGE) or name.rpartition(".")[0] in sys.modules)


def source_file(name: str) -> Path | None:
    """Return the file of a user's scheme that has been imported; ``None`` for a scheme of this package."""
    file = getattr(sys.modules.get(name.rpartition(".")[0]), "__file__", None)
    return Path(file) if file and not name.startswith(PACKAGE) else None


def _module_of(path: Path) -> ModuleType:
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
