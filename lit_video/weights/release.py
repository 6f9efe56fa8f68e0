"""The table of published weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from lit_video.errors import UserError
from lit_video.utils.data_folder import data_folder
from lit_video.utils.yaml_files import read_yaml

TABLE = Path(__file__).with_name("released.yaml")
PREFIX = "hub:"


@dataclass(frozen=True)
class Release:
    """One published model.

    Args:
        name: after ``hub:``.
        settings: of the published evaluation, by flag.
        address: of the file; ``None`` of a repository of Hugging Face.
        repository: there, ``OWNER/NAME``; ``None`` of a file.
        published: ``top1`` and ``top5`` in percent, as far as they were printed.
        sha256: of the file, as far as it is known.
    """

    name: str
    settings: Mapping[str, Any]
    address: str | None
    repository: str | None
    published: Mapping[str, float]
    sha256: str | None = None

    @property
    def origin(self) -> str:
        """Where it is published, for messages."""
        return self.address or f"the files of huggingface.co/{self.repository}"

    @property
    def place(self) -> Path:
        """Where its file or folder is once it has been fetched."""
        folder = data_folder() / "weights" / self.name.replace("/", "--")
        return folder / PurePosixPath(urlsplit(self.address).path).name if self.address else folder


@cache
def releases() -> dict[str, Release]:
    """All of them, by name."""
    content = read_yaml(TABLE)
    return {name: _release(name, given, content["recipes"]) for name, given in content["weights"].items()}


def _release(name: str, given: Mapping[str, Any], recipes: Mapping[str, Any]) -> Release:
    settings = recipes[given["recipe"]] | given["set"]
    address, repository = given.get("address"), given.get("repository")
    return Release(name, settings, address, repository, given.get("published", {}), given.get("sha256"))


def find(setting: str) -> Release:
    """A release by ``hub:NAME``, or any repository of Hugging Face by ``hub:OWNER/NAME``.

    Raises:
        UserError: there is no such name.
    """
    name = setting.removeprefix(PREFIX)
    if name in releases():
        return releases()[name]
    if name.count("/") == 1 and all(name.split("/")):
        return Release(name, {}, None, name, {})
    raise UserError(f"{setting}: no such weights; python -m lit_video weights lists them (or hub:OWNER/NAME)")


def weights_path(setting: str) -> Path:
    """The file or folder of a setting of weights: a path, or ``hub:NAME`` that has been fetched.

    Raises:
        UserError: it has not been fetched; says how.
    """
    if not setting.startswith(PREFIX):
        return Path(setting)
    release = find(setting)
    if not release.place.exists():
        raise UserError(
            f"{setting} has not been fetched: python -m lit_video weights fetch {release.name}; "
            f"or download {release.origin} and put it at {release.place}"
        )
    return release.place
