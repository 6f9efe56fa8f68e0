"""Train, compare and reproduce video transformers in PyTorch Lightning; __init__.pyi names the API."""

import re
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"

# module of each name of the API, such as "api.fit"; empty for a package. Its line is "from MODULE import NAME as NAME"
_LINE = re.compile(r"^from lit_video\.?(\S*) import (\w+) as \2$", re.M)
MODULES = {name: module for module, name in _LINE.findall(Path(__file__).with_suffix(".pyi").read_text())}
__all__ = [*MODULES]


def __getattr__(name: str) -> object:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; models are in {__name__}.modules")
    module = MODULES[name]
    return getattr(import_module(f"lit_video.{module}"), name) if module else import_module(f"lit_video.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
