"""YAML files read strictly, without importing torch: a mistake is reported with file and line."""

import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from lit_video.errors import UserError
from lit_video.utils.files import user_path
from lit_video.utils.text import did_you_mean, first_line

try:  # libyaml's loader is eight times as fast
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML was built without it
    from yaml import SafeLoader  # type: ignore[assignment]


# in a wheel (setup.py) the folder is inside the package, in a clone beside it
EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
if not EXPERIMENTS.is_dir():
    EXPERIMENTS = EXPERIMENTS.parents[1] / "experiments"
PACKS = "benchmarks/results"  # packed runs, in the repository


def find_config(config: str | Path) -> Path:
    """Return the settings file at a path, or this package's file of that name, such as ``ablation_tw``."""
    path = user_path(config)
    if path.exists() and not path.is_dir():
        return path
    name = path.as_posix().removeprefix("experiments/").removesuffix(".yaml")
    shipped = {file.relative_to(EXPERIMENTS).with_suffix("").as_posix(): file for file in EXPERIMENTS.rglob("*.yaml")}
    if name in shipped:
        return shipped[name]
    near = did_you_mean(name, shipped)
    if path.suffix or len(path.parts) > 2:
        near = _near_file(path) or near
    raise UserError(f"{path}: no such file, and no experiment has this name{near}")


def find_part(file: Path, name: str) -> Path:
    """Return the YAML file that a ``file`` names: beside it, else in this package, as ``parts/data_skills.yaml``."""
    beside = file.parent / name
    shipped = EXPERIMENTS / name
    return shipped if shipped.is_file() and not beside.exists() else beside


def _near_file(path: Path) -> str:
    """Suggest, for a missing file, the YAML file in its folder with the most similar name."""
    return did_you_mean(str(path), map(str, path.parent.glob("*.yaml")))


def find_experiments(folder: str | Path = "experiments") -> Path:
    """Return a folder of tables; ``experiments`` is the package's folder if the working directory has no tables."""
    path = user_path(folder)
    if path == Path("experiments") and not any(path.glob("*.yaml")):
        return EXPERIMENTS
    if not path.is_dir():
        raise UserError(f"--experiments {path}: no such folder")
    return path


class _StrictLoader(SafeLoader):
    """SafeLoader that refuses a key given twice, which plain YAML loaders accept silently."""

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
def _parse(text: str) -> bytes:
    """Parse YAML, cached by content: a changed file is parsed again; a pickle is copied faster than data."""
    return pickle.dumps(yaml.load(text, _StrictLoader))


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file, parsed once per process; the caller may change it."""
    try:
        content = pickle.loads(_parse(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, IsADirectoryError):
        raise UserError(f"{path}: no such file{_near_file(path)}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text file") from None
    except yaml.MarkedYAMLError as error:
        assert error.problem_mark is not None
        raise UserError(f"{path}, line {error.problem_mark.line + 1}: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that does not exist
        raise UserError(f"{path}: {first_line(error)}") from None

    if not isinstance(content, dict):
        raise UserError(f"{path}: expected keys and values (trainer, data, model, table)")
    return content
