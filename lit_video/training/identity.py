"""Identity of a requested run, and its comparison with the record in its folder and with other runs."""

import logging
import shutil
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentError

from lit_video.datamodules.inspection import data_digest
from lit_video.engine.checkpoint_file import RUN_KEY, peek, write_checkpoint
from lit_video.errors import UserError
from lit_video.runs.chosen_checkpoint import BEST, LAST
from lit_video.runs.finished import read_finished
from lit_video.runs.folder import RUN
from lit_video.runs.history import History
from lit_video.runs.identity import Identity, differences
from lit_video.runs.record import Record
from lit_video.runs.result import Override
from lit_video.schemes.loading import names_of, source_file
from lit_video.settings.effects import data_names, model_names, picked
from lit_video.settings.flat import CALLBACKS, OWN, flatten
from lit_video.settings.nested import ARGUMENTS, CLASS, merged, short_key
from lit_video.training.cli import ReadCLI, VideoCLI
from lit_video.training.constructors import Constructors
from lit_video.training.layers import with_user_settings
from lit_video.training.request import Run
from lit_video.utils.environment import commit, versions
from lit_video.utils.processes import started_together
from lit_video.weights.hub import weights_path
from lit_video.weights.reading import CHECKPOINT_KEY, read_weights, tensors_digest

_logger = logging.getLogger(__name__)


def ask(run: Run, cli: VideoCLI) -> History:
    """Return the history of a run that begins or resumes; refuse the folder of another run."""
    before = read_history(run.folder)
    now = run_identity(cli)
    if before is None:
        return History(now)
    before.refuse_other(run.folder, now, run.origin())
    return before.going_on(now)


def run_identity(cli: VideoCLI) -> Identity:
    """Prepare the data, and compute a run's identity: settings, digests of videos, own code and starting weights."""
    settings = cli.resolved()
    data = cli.datamodule
    videos = data.drawn_as
    if not videos:
        data.prepare_data()  # some data sets write their videos here
        videos = data_digest(data)

    digests = _digests_of_files(settings["model"]["init_args"])
    return Identity(settings=settings, data=videos, weights=digests, commit=commit(), versions=versions())


def _digests_of_files(model: Mapping[str, Any]) -> dict[str, str]:
    """Return digests of a model's own code and starting weights, by setting."""
    digests = {}
    for name, class_name in names_of(model).items():
        code = source_file(class_name)
        if code:
            digests[f"model.init_args.{name}"] = blake2b(code.read_bytes(), digest_size=8).hexdigest()

    for name in model_names("files"):
        weights = model.get(name)
        if not weights:
            continue
        with suppress(UserError):  # training refuses missing weights
            digests[f"model.init_args.{name}"] = weights_digest(weights_path(weights), model.get("weights_ema"))
    return digests


def overridden(run: Run) -> dict[str, Override]:
    """Return the settings that the user changed in the row, by key.

    If the table leaves so much to the user that its row cannot be read, every setting of the user's counts.
    """
    user_settings = run.request.user_settings
    if not user_settings:
        return {}
    used = ReadCLI(run.settings).resolved()
    row = _settings_of_row(run, used["data"])
    of_user = {short_key(key) for key in flatten(with_user_settings({}, user_settings))}

    changed = {}
    for difference in differences(Identity(row or {}), Identity(used)):
        key = short_key(difference.key)
        if difference.kind in ("folder", "spread") or (row is None and key not in of_user):
            continue
        is_callback = difference.key in (CALLBACKS, OWN)
        changed["trainer.callbacks" if is_callback else key] = Override(difference.was, difference.now)
    return changed


def _settings_of_row(run: Run, data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the resolved settings of a run's row without the user's; ``None`` if they cannot be read.

    A table may leave class and folder of the data to the user; ``data`` has those of the run.
    """
    place = {CLASS: data[CLASS], ARGUMENTS: picked(data[ARGUMENTS], data_names("folders"))}
    try:
        return ReadCLI(merged({"data": place}, run.row_settings, Constructors())).resolved()
    except ArgumentError:
        return None


def read_history(run_dir: Path) -> History | None:
    """Read a run's history from its result, else from its last checkpoint; ``None`` if neither can be read."""
    with suppress(UserError):  # a damaged result is measured again
        if run := read_finished(run_dir):
            return History(run.identity, run.changes, finished=True)
    with suppress(Exception):  # a damaged file can raise anything; training reports it
        return _stored(peek(run_dir / LAST))
    return None


def _stored(checkpoint: Mapping[str, Any]) -> History:
    """Return the history in a checkpoint."""
    record = Record.of(checkpoint[RUN_KEY])
    if record.identity is None:
        raise ValueError("checkpoint without a run's identity")
    return History(record.identity, record.changes or ())


def weights_digest(path: Path, average: bool | None = None) -> str:
    """Return a 16-digit hexadecimal hash of the tensor names and values that :func:`read_weights` reads."""
    files = sorted(path.glob("*")) or [path]
    states = [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.exists()]
    return _digest_of(path, average, tuple(states))


@lru_cache(maxsize=64)
def _digest_of(path: Path, average: bool | None, states: tuple[tuple[str, int, int], ...]) -> str:
    return tensors_digest(read_weights(path, average).tensors)


def take_trained(run: Run, now: Identity) -> History | None:
    """Copy checkpoint and curve of a finished run with the same training, if any; return the new history."""
    if started_together():
        raise UserError("--reuse: not for a run whose processes torchrun or srun starts; leave it out")
    if now.commit == "unknown" or "+" in now.commit:
        code = f"the code is not that of a commit ({now.commit})"
        raise UserError(f"--reuse: {code}, so no run is known to have the same code; leave it out")

    records = sorted(run.request.folder.glob(f"*/*/*/seed{run.seed}/{RUN}"))
    source = next((record.parent for record in records if _trained_alike(record.parent, now)), None)
    if source is None or (run.folder / LAST).exists():
        return None
    _logger.info(f"{run.label}: takes the training of {source}")

    content = peek(source / LAST)
    history = History(_stored(content).identity).going_on(now)
    content[RUN_KEY] = history.record.plain()
    data = now.settings["data"]["init_args"]
    content[CHECKPOINT_KEY]["data"] |= picked(data, data_names("counts"))

    shutil.copy2(source / "curves.csv", run.folder)
    write_checkpoint(content, run.folder / LAST)
    return history


def _trained_alike(folder: Path, now: Identity) -> bool:
    """Return whether a folder has the last checkpoint of a finished run with the same training and no changes."""
    try:
        run = read_finished(folder)
    except UserError:
        return False  # a damaged run is not reused
    if run is None or run.changes or run.result.skipped_steps:
        return False

    is_same = all(difference.kind == "test" for difference in differences(run.identity, now))
    return is_same and (folder / LAST).is_file() and not (folder / BEST).exists()
