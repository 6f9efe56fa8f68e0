"""Identity of the run that is asked for, beside that of its folder: resume, skip or refuse."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from lit_video.datamodules import TemporalSkills
from lit_video.datamodules.inspection import data_digest
from lit_video.errors import UserError
from lit_video.runs.files import packed_files
from lit_video.runs.identity import Difference, Identity, Kind, averages, differences
from lit_video.runs.results import read_result
from lit_video.schemes.loading import source_file
from lit_video.training.checkpoint_file import LAST, PREVIOUS, RUN_KEY, peek
from lit_video.training.cli import VideoCLI
from lit_video.utils.environment import commit, versions
from lit_video.weights.hub import weights_path
from lit_video.weights.reading import read_weights, tensors_digest


@dataclass(frozen=True)
class Record:
    """Identity and changes of a run, as its checkpoints and its result keep them."""

    identity: Identity  # of its last attempt
    changes: list[dict[str, Any]] = field(default_factory=list)  # since the run began: key, from, to
    finished: bool = False  # whether there is a result

    def going_on(self, run_dir: Path, now: Identity) -> "Record":
        """The record of the run in a folder that goes on as ``now``; prints and adds what has changed."""
        found = [each for each in differences(self.identity, now) if each.kind != "place"]
        for each in found:
            print(f"{run_dir}: {each}", flush=True)
        return Record(now, [*self.changes, *({"key": one.key, "from": one.was, "to": one.now} for one in found)])

    def content(self) -> dict[str, Any]:
        """As a file keeps it."""
        return {"identity": asdict(self.identity), "changes": self.changes}


def run_identity(cli: VideoCLI) -> Identity:
    """Compute the identity of a run with these settings."""
    settings, data = cli.resolved(), cli.datamodule
    if isinstance(data, TemporalSkills):
        listing = data.root.name  # which says how it is made
    else:
        data.prepare_data()  # may make what is listed
        listing = data_digest(data)
    return Identity(settings, listing, _weights(settings["model"]["init_args"]), commit(), versions())


def read_record(run_dir: Path) -> Record | None:
    """Read the record of a folder's run from its result or last readable checkpoint; ``None`` without either.

    Raises:
        UserError: the result is damaged.
    """
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


def refuse_other_run(run_dir: Path, before: Record, now: Identity, where: str) -> list[Difference]:
    """Refuse to take a folder for another run than the one that it holds.

    Training may become longer, unless weights are averaged, and be spread over other devices with the same batch of a
    step, by other code. A run in training may go on with another listing of its data.

    Returns the differences; ``where`` the settings come from is for the message.

    Raises:
        UserError: the folder's run is another; names the first difference.
    """
    reasons: dict[Kind, str] = {"training": "", "test": ""}
    if before.finished:
        reasons["data"] = " (other videos or labels)"
    if averages(now.settings):
        reasons["longer"] = " (averaged weights cannot be trained longer)"
    if packed_files(run_dir):
        reasons["longer"] = " (packed, without a checkpoint to go on from)"
    found = differences(before.identity, now)
    for each in found:
        if each.kind in reasons:
            why = f"{each}{reasons[each.kind]}"
            raise UserError(f"{where}: {run_dir} is another run: {why}; give another --runs, or delete that folder")
    return found


def _weights(model: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the files that a model is made of: an own scheme's code, and the values that training starts from.

    None of a file that is not here, which training refuses.
    """
    found = {}
    if code := source_file(model.get("attention") or ""):
        found["model.init_args.attention"] = blake2b(code.read_bytes(), digest_size=8).hexdigest()
    for name in ("weights", "image_weights"):
        if given := model.get(name):
            with suppress(UserError):
                path = weights_path(given)
                found[f"model.init_args.{name}"] = weights_digest(path, model.get("weights_ema"))
    return found


def weights_digest(path: Path, average: bool | None = None) -> str:
    """16 hexadecimal digits of the names and values of the tensors that :func:`read_weights` reads.

    Raises:
        UserError: there are no weights.
    """
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.exists() else []
    states = tuple((file.name, (found := file.stat()).st_mtime_ns, found.st_size) for file in files)
    return _digest_of(path, average, states)


@lru_cache(maxsize=64)
def _digest_of(path: Path, average: bool | None, states: tuple[tuple[str, int, int], ...]) -> str:
    return tensors_digest(read_weights(path, average).tensors)
