"""Rows, seeds and settings that functions are asked for, and checks of their arguments."""

import os
from collections.abc import Iterable, Sequence
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.errors import OptionError, UserError
from lit_video.settings.flags import Settings, as_user_settings
from lit_video.utils.files import user_path
from lit_video.utils.text import did_you_mean
from lit_video.utils.yaml_files import find_config

if TYPE_CHECKING:
    from lit_video.experiment.request import Request

File = str | Path  # path of a settings file, or the name of one of this package, such as ablation_tw or scale/ssv2
Files = File | Sequence[File]
Rows = str | int | Sequence[str | int]  # names of rows, or their numbers from 0; a text may hold several, with commas


def listed(files: Files | None) -> list[Path]:
    """Return the paths of files that are given by one name or several."""
    if files is None:
        return []
    names = [files] if isinstance(files, str | Path) else files
    return [find_config(file) for file in names]


def places(names: File | Sequence[File]) -> list[Path]:
    """Return the paths of folders or videos that are given by one name or several."""
    return [user_path(place) for place in ([names] if isinstance(names, str | Path) else names)]


def existing_path(name: File, otherwise: str) -> Path:
    """Return the path of a file or folder; refuse a missing one for the reason ``otherwise``, and suggest a name."""
    path = user_path(name)
    if not os.path.lexists(path):
        beside = glob(os.path.join(os.path.dirname(path), "*"))
        raise UserError(f"{name}: {otherwise}{did_you_mean(str(path), beside)}")
    return path


def names_of_rows(rows: Rows | None) -> list[str] | None:
    """Return rows as the texts that name them; ``None`` for all rows."""
    if rows is None:
        return None
    return [str(row) for row in ([rows] if isinstance(rows, str | int) else rows)]


def checked_seeds(seeds: Iterable[int]) -> list[int]:
    """Return whole numbers from 0, each once.

    Raises:
        OptionError: there is none, or one is no such number.
    """
    numbers = [seeds] if isinstance(seeds, int) else list(seeds)
    for seed in numbers:
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise OptionError("seeds", f"is {seed}, expected whole numbers, such as 0, 1, 2")
    if not numbers:
        raise OptionError("seeds", "there is none; give 0, for instance")
    return list(dict.fromkeys(numbers))


def request_for(
    table: Files,
    overlays: Files = (),
    rows: Rows | None = None,
    *,
    seeds: Iterable[int] = (0,),
    settings: Settings = (),
    recipe: str | None = None,
    runs: File = "runs",
    reuse: bool = False,
) -> "Request":
    """Build the request for rows of a table: see :func:`lit_video.fit`."""
    configs = [*listed(table), *listed(overlays)]
    if not configs:
        raise UserError("name a table, by its YAML or its name, such as ablation_tw")

    from lit_video.experiment.request import build_request  # here, because a command's help needs none of it

    return build_request(
        configs,
        names_of_rows(rows),
        seeds=checked_seeds(seeds),
        runs=user_path(runs),
        recipe=recipe,
        user_settings=as_user_settings(settings),
        reuse=reuse,
    )


def refuse_unwritable(flag: str, path: Path, endings: Sequence[str] = ()) -> Path:
    """Return the path of a file to write; refuse one whose ending is not of ``endings``, or that cannot be written."""
    if endings and path.suffix.lower() not in endings:
        raise UserError(f"--{flag}: {path} ends in none of {', '.join(endings)}")
    if not path.parent.is_dir():
        raise UserError(f"--{flag} {path}: no such folder {path.parent}")
    if path.is_dir():
        raise UserError(f"--{flag} {path}: is a folder, expected a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UserError(f"--{flag} {path}: writing there is not permitted")
    return path
