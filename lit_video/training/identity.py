"""Identity of a run that is asked for, and the record of the one in its folder."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from lit_video.datamodules import TemporalSkills
from lit_video.datamodules.inspection import data_digest
from lit_video.errors import UserError
from lit_video.runs.identity import Difference, Identity, Record
from lit_video.runs.results import read_result
from lit_video.schemes.loading import source_file
from lit_video.training.checkpoint_file import LAST, PREVIOUS, RUN_KEY, peek
from lit_video.training.cli import VideoCLI
from lit_video.training.request import Run
from lit_video.utils.environment import commit, versions
from lit_video.utils.settings import model_names
from lit_video.weights.hub import weights_path
from lit_video.weights.reading import read_weights, tensors_digest


@dataclass(frozen=True)
class Asked:
    """A run that is asked for, beside the one in its folder."""

    now: Identity
    before: Record | None
    differences: list[Difference]

    @property
    def done(self) -> bool:
        """True if there is a result, and no longer training is asked for."""
        longer = any(each.kind == "longer" for each in self.differences)
        return self.before is not None and self.before.finished and not longer


def ask(run: Run, cli: VideoCLI) -> Asked:
    """Compare a run, built from its settings, with the one in its folder."""
    before, now = read_record(run.folder), run_identity(cli)
    return Asked(now, before, before.refuse_other(run.folder, now, run.place()) if before else [])


def run_identity(cli: VideoCLI) -> Identity:
    """Compute the identity of a run with these settings."""
    settings, data = cli.resolved(), cli.datamodule
    if isinstance(data, TemporalSkills):
        listing = data.root.name  # the folder's name says how it is made
    else:
        data.prepare_data()  # may make what is listed
        listing = data_digest(data)
    return Identity(settings, listing, _weights(settings["model"]["init_args"]), commit(), versions())


def read_record(run_dir: Path) -> Record | None:
    """Read the record of a folder's run from its result, or else its last checkpoint that can be read."""
    with suppress(UserError):  # a damaged result is measured again
        if result := read_result(run_dir):
            return Record(Identity(**result["identity"]), result["changes"], finished=True)
    for path in (run_dir / LAST, run_dir / PREVIOUS):
        with suppress(Exception):  # a damaged file can raise anything; training says that it is
            return checkpoint_record(path)
    return None


def checkpoint_record(path: Path) -> Record:
    """Read the record of a checkpoint's run."""
    content = peek(path)[RUN_KEY]
    return Record(Identity(**content["identity"]), content["changes"])


def _weights(model: Mapping[str, Any]) -> dict[str, str]:
    """Return digests of a model's files: a user's scheme, and the values that training starts from.

    A missing file has no digest; training refuses it.
    """
    found = {}
    if code := source_file(model.get("attention") or ""):
        found["model.init_args.attention"] = blake2b(code.read_bytes(), digest_size=8).hexdigest()
    for name in model_names("files"):
        if given := model.get(name):
            with suppress(UserError):
                path = weights_path(given)
                found[f"model.init_args.{name}"] = weights_digest(path, model.get("weights_ema"))
    return found


def weights_digest(path: Path, average: bool | None = None) -> str:
    """Return 16 hexadecimal digits of the names and values of the tensors that :func:`read_weights` reads."""
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.exists() else []
    states = tuple((file.name, (found := file.stat()).st_mtime_ns, found.st_size) for file in files)
    return _digest_of(path, average, states)


@lru_cache(maxsize=64)
def _digest_of(path: Path, average: bool | None, states: tuple[tuple[str, int, int], ...]) -> str:
    return tensors_digest(read_weights(path, average).tensors)
