"""Which files a table was run from, kept beside its runs, so that a report finds tables of anywhere. No torch."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from lit_video.tables.table import Table
from lit_video.utils.files import write_atomically
from lit_video.utils.yaml_files import read_yaml

FILE = "table.yaml"


def write_origin(scale_dir: Path, configs: Sequence[Path], recipe: str | None) -> None:
    """Keep the files of a table, and the recipe, in the folder of its scale."""
    content = {"configs": [str(path.resolve()) for path in configs], "recipe": recipe}
    write_atomically(scale_dir / FILE, yaml.safe_dump(content, sort_keys=False))


def read_origin(scale_dir: Path) -> Table | None:
    """The table as it stands now in the files that it was run from; ``None`` where these are not there any more.

    Raises:
        UserError: one of them is wrong.
    """
    try:
        content = read_yaml(scale_dir / FILE)
        configs = [Path(path) for path in content["configs"]]
    except (UserError, KeyError, TypeError):  # not there, or damaged
        return None
    if not configs or not all(path.is_file() for path in configs):
        return None
    return replace(read_table(configs, content.get("recipe")), scale=scale_dir.name)
