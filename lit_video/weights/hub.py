"""Published weights: addresses, settings of their evaluation, and download."""

import json
import logging
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from lit_video.errors import OptionError, UserError, one_line
from lit_video.runs.chosen_checkpoint import find_checkpoint, run_or_file
from lit_video.utils.files import data_folder, user_path
from lit_video.utils.messages import are_shown
from lit_video.utils.text import did_you_mean
from lit_video.utils.yaml_files import read_yaml
from lit_video.weights.integrity import EXPORTED, check_download, refuse_other_content
from lit_video.weights.parts import matching, without

_logger = logging.getLogger(__name__)

RELEASES_FILE = Path(__file__).with_name("released.yaml")
PREFIX = "hub:"  # prefix of published weights
IMAGES = "timm:"  # prefix of image models of timm
VIDEOS = "torchvision:"  # prefix of video models of torchvision
DRAWN_WEIGHTS = "drawn"  # weights of our own pretraining on drawn videos, docs/drawn_videos.md
DRAWN_FILE = Path(__file__).parent / DRAWN_WEIGHTS / "model.safetensors"


@dataclass(frozen=True)
class Release:
    """One published model."""

    name: str  # name without hub:
    settings: Mapping[str, Any]  # settings of the published evaluation, by flag
    address: str | None  # URL of the file; None for a Hugging Face repository
    repository: str | None  # OWNER/NAME at Hugging Face; None for a file
    published: Mapping[str, float]  # top1 and top5 in percent, as far as published
    sha256: str | None = None  # published checksum of the file; None if there is none
    inside: Path | None = None  # export that comes along in this package; None for weights to fetch

    @property
    def place(self) -> Path:
        """Path of the release's file or folder once it has been fetched."""
        if self.inside:
            return self.inside
        folder = data_folder() / "weights" / self.name.replace(":", "/")
        return folder / PurePosixPath(urlsplit(self.address or "").path).name

    @property
    def here(self) -> Path | None:
        """Path of the fetched file or folder, or of its copy in Hugging Face's cache; ``None`` if not fetched."""
        if self.place.exists():
            return self.place
        return cached(self.repository) if self.repository else None


@cache
def releases() -> dict[str, Release]:
    """Return the published models by name."""
    content = read_yaml(RELEASES_FILE)
    by_name = {}
    for name, entry in content["weights"].items():
        recipe = content["recipes"][entry["recipe"]]
        source = content["sources"][recipe["source"]]
        settings = source["settings"] | recipe | entry["set"]
        del settings["source"]

        by_name[name] = Release(
            name=name,
            settings=settings,
            address=entry.get("address"),
            repository=entry.get("repository"),
            published=entry.get("published", {}),
            sha256=entry.get("sha256"),
        )

    # the weights of this package's own pretraining: their settings are those of the export
    export = json.loads(DRAWN_FILE.with_name(EXPORTED).read_text())
    settings = {"data": "drawn videos", "model": export["model"].rpartition(".")[2]}
    settings |= {f"data.{name}": value for name, value in export["data"].items()}
    settings |= {f"model.{name}": value for name, value in export["hyper_parameters"].items()}
    drawn = Release(DRAWN_WEIGHTS, settings, address=None, repository=None, published={}, inside=DRAWN_FILE)
    return by_name | {DRAWN_WEIGHTS: drawn}


def find(setting: str) -> Release:
    """Return published weights by their name, with or without ``hub:``, or timm's by ``timm:NAME``; refuse others."""
    name = setting.removeprefix(PREFIX)
    if name.startswith(IMAGES):
        return Release(name, settings={}, address=None, repository=name.replace(":", "/"), published={})
    if name in releases():
        return releases()[name]

    near = did_you_mean(name, releases()) or "; lit_video weights lists them"
    raise UserError(f"{setting}: no such weights{near}")


def find_start(weights: str, option: str = "weights") -> str | Path:
    """Return what a user's start means: ``hub:NAME`` for fetched published weights, else the file of a checkpoint.

    The weights that come along in this package are such a file, an export.
    """
    if weights.startswith(PREFIX) or weights in releases():
        release = find(weights)
        if release.inside:
            return release.inside
        name = PREFIX + release.name
        weights_path(name)
        return name

    try:
        return find_checkpoint(weights)
    except OptionError as error:
        meaning = _meaning(weights)
        if meaning:
            raise OptionError(option, f"{weights}: no such file; {meaning}") from error
        names = did_you_mean(weights, releases()) or ", or one of the names that lit_video weights lists"
        raise OptionError(option, f"{error.args[1]}{names}") from error


def published_name(file: Path) -> str:
    """Return ``hub:NAME`` for a file that comes along in this package, which has another path elsewhere; else ""."""
    return PREFIX + DRAWN_WEIGHTS if file == DRAWN_FILE else ""


def weights_path(setting: str) -> Path:
    """Return the file or folder that a setting means: a path, a run's folder (tested checkpoint) or ``hub:NAME``."""
    if not setting.startswith(PREFIX):
        path = user_path(setting)
        meaning = "" if path.exists() else _meaning(setting)
        if meaning:
            raise UserError(f"{setting}: no such file or folder; {meaning}")
        return run_or_file(path)

    release = find(setting)
    fetched = release.here
    if fetched:
        return fetched
    raise UserError(f"{setting} has not been fetched: lit_video weights fetch {release.name}; or {_by_hand(release)}")


def _meaning(setting: str) -> str:
    """Return advice on a name that is no path but that of published weights, or of a model of timm or Hugging Face."""
    for release in releases().values():
        if setting in (release.name, release.repository):
            return f"{PREFIX}{release.name} is meant: lit_video weights fetch {release.name}"

    owner, _, name = setting.partition("/")
    if owner == "timm" and name:
        return f"an image model of timm is model.image_weights: {IMAGES}{name}"
    if re.fullmatch(r"[\w.-]+/[\w.-]+", setting) and not Path(setting).suffix:
        return f"if it is at Hugging Face, download it (hf download {setting} --local-dir DIR) and give DIR"
    return ""


# files of a Hugging Face repository: the configuration, and weights in one of several formats
FILES = re.compile(r"config\.json|(model|pytorch_model).*\.(safetensors|bin|json)")
WAIT = 4.0  # seconds for the hub to answer


def cached(repository: str) -> Path | None:
    """Return a repository's folder in Hugging Face's cache; ``None`` if its weights are not there."""
    from huggingface_hub import try_to_load_from_cache  # imported late: takes a second

    for name in ("model.safetensors", "pytorch_model.bin"):
        path = try_to_load_from_cache(repository, name)
        if isinstance(path, str):
            return Path(path).parent
    return None


def download(repository: str, folder: Path) -> None:
    """Print a repository's size and licence, then download its weights.

    Raises:
        OSError: the hub does not answer, or a file differs from the checksum that the hub names.
    """
    from multiprocessing import TimeoutError as NoAnswer
    from multiprocessing.pool import ThreadPool

    from huggingface_hub import HfApi, snapshot_download

    hub = HfApi(os.environ.get("HF_ENDPOINT"))
    try:
        # DNS may take longer than the client's timeout
        ask = partial(hub.model_info, repository, files_metadata=True, timeout=WAIT)
        info = ThreadPool(1).apply_async(ask).get(WAIT)
    except NoAnswer as error:
        raise OSError(f"{hub.endpoint} does not answer in {WAIT:g} s") from error
    except Exception as error:  # any error of huggingface_hub
        raise OSError(f"{hub.endpoint} does not answer: {one_line(error)}") from error

    sizes = {file.rfilename: file.size or 0 for file in info.siblings or () if FILES.fullmatch(file.rfilename)}
    if matching(sizes, r".*\.safetensors$"):
        sizes = without(sizes, "pytorch_model")

    licence = getattr(info.card_data, "license", None) or "not stated"
    size = f"{sum(sizes.values()) / 1e6:.0f} MB"
    _logger.info(f"downloading {repository}: {size} from {hub.endpoint}, licence: {licence}")
    snapshot_download(repository, local_dir=folder, allow_patterns=[*sizes], endpoint=hub.endpoint)

    for file in info.siblings or ():
        if file.lfs and file.rfilename in sizes:
            refuse_other_content(folder / file.rfilename, file.lfs.sha256, hub.endpoint)


class NotFetched(UserError):
    """Published weights that cannot be downloaded: why, and how to fetch them by hand."""

    def __init__(self, release: Release, why: str) -> None:
        self.why = f"{release.name}: {why}"
        super().__init__(f"{self.why}; {_by_hand(release)}")


def fetch(release: Release) -> Path:
    """Download a release unless it has been fetched; return its path.

    Raises:
        NotFetched: there is no network, or the download fails.
    """
    fetched = release.here
    if fetched:
        return fetched
    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        raise NotFetched(release, "HF_HUB_OFFLINE is set")

    from http.client import HTTPException  # imported late: it would take a tenth of the time of --help

    release.place.parent.mkdir(parents=True, exist_ok=True)
    part = release.place.with_name(f"{release.place.name}.part")
    try:
        if release.repository:
            download(release.repository, part)
        else:
            _download_file(release, part)
            check_download(part, release.place, release.sha256)
        part.replace(release.place)
    except (OSError, HTTPException) as error:
        raise NotFetched(release, one_line(error)) from error
    return release.place


def _by_hand(release: Release) -> str:
    origin = release.address or f"the files of huggingface.co/{release.repository}"
    return f"download {origin} on another machine and put it at {release.place}"


def _download_file(release: Release, part: Path) -> None:
    """Download a release's file; refuse to leave encryption on the way, a part of the file, and a page in its place."""
    from urllib.request import HTTPRedirectHandler, build_opener

    from rich.progress import wrap_file

    class Encrypted(HTTPRedirectHandler):
        def redirect_request(self, request: Any, *reply: Any) -> Any:
            address = reply[-1]
            if request.type == "https" and urlsplit(address).scheme != "https":
                raise OSError(f"the server refers from https to {address}, which anybody on the way could change")
            return super().redirect_request(request, *reply)

    with build_opener(Encrypted).open(str(release.address), timeout=60) as reply, part.open("wb") as file:
        total = int(reply.headers.get("Content-Length") or 0)
        with wrap_file(reply, total, description=release.name, disable=not are_shown()) as content:
            shutil.copyfileobj(content, file)

    if total and part.stat().st_size != total:
        raise OSError(f"the connection ended after {part.stat().st_size} of {total} bytes; run it again")
    with part.open("rb") as begun:
        if begun.read(512).lstrip().lower().startswith((b"<!doctype", b"<html")):
            raise OSError("the server sent a page, not a file")
