"""YAML files read strictly, without importing torch: a mistake is reported with file and line."""

from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean

try:  # libyaml's, eight times as fast
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML was built without it
    from yaml import SafeLoader  # type: ignore[assignment]


_PACKAGE = Path(__file__).parents[1].resolve()
# inside the package in a wheel (setup.py), beside it in a clone
EXPERIMENTS = (_PACKAGE if (_PACKAGE / "experiments").is_dir() else _PACKAGE.parent) / "experiments"


def find_config(given: str | Path) -> Path:
    """Return the settings file at a path, or this package's by name, such as ``ablation_tw``."""
    path = Path(given)
    if path.exists() and not path.is_dir():
        return path
    name = path.as_posix().removeprefix("experiments/").removesuffix(".yaml")
    shipped = {file.relative_to(EXPERIMENTS).with_suffix("").as_posix(): file for file in EXPERIMENTS.rglob("*.yaml")}
    if name in shipped:
        return shipped[name]
    beside = [str(other) for other in path.parent.glob("*.yaml")] if path.suffix or len(path.parts) > 2 else []
    near = did_you_mean(str(path), beside) or did_you_mean(name, shipped)
    raise UserError(f"{path}: no such file, and no experiment has this name{near}")


def find_experiments(given: str | Path = "experiments") -> Path:
    """Return a folder of tables; ``experiments`` is the package's if the working directory has none."""
    path = Path(given)
    default = path == Path("experiments")
    if not default and not path.is_dir():
        raise UserError(f"--experiments {path}: no such folder")
    return EXPERIMENTS if default and not any(path.glob("*.yaml")) else path


class _StrictLoader(SafeLoader):
    """SafeLoader that refuses a key given twice, which plain YAML loaders resolve silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key!r} is given twice; rename one", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


@lru_cache(maxsize=256)
def _parse(text: str) -> Any:
    """Parse YAML, cached by content: a changed file is parsed again."""
    return yaml.load(text, _StrictLoader)


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file, parsed once per process; the caller may change it."""
    try:
        content = _parse(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        beside = [str(other) for other in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
        raise UserError(f"{path}: no such file{did_you_mean(str(path), beside)}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text file") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that does not exist
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise UserError(f"{path}{line}: {problem or str(error).splitlines()[0]}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: expected keys and values (trainer, data, model, table)")
    return deepcopy(content)
