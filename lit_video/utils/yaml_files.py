"""YAML files read strictly, without importing torch: a mistake is told with file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from lit_video.errors import UserError


class _StrictLoader(yaml.SafeLoader):
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


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises:
        UserError: the file does not exist, is no YAML, or no mapping.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _StrictLoader)
    except (FileNotFoundError, IsADirectoryError):
        raise UserError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text file") from None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{path}{line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: expected keys and values (trainer, data, model, table)")
    return content
