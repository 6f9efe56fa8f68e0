"""Names of tables, scales and rows that are safe as the names of folders. Imports no torch."""

import re
from pathlib import Path

from lit_video.errors import UserError


def check_folder_name(path: Path, where: str, name: str) -> None:
    """Refuse a name that, as a folder, would leave the runs folder or trip a shell.

    Args:
        path: of the YAML file that gives it.
        where: in the file, such as ``table.scale: `` or ``table.rows.``.
        name: what a folder of runs would be called.

    Raises:
        UserError: it has other characters than ASCII letters, digits and ``_ - . +``, does not begin with a letter,
            a digit or ``_``, or is longer than 100.
    """
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}", name):
        raise UserError(
            f"{path}: {where}{name!r} becomes a folder: expected letters, digits and _ - . + only (at most 100), "
            "a letter, a digit or _ first"
        )
