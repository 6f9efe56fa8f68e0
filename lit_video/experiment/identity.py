"""Identity of a requested run, compared with the record in its folder and with other runs; which runs are finished."""

import json
import logging
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import structs

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.inspection import data_digest
from lit_video.engine.checkpoints import RUN_KEY, peek, write_checkpoint
from lit_video.errors import UserError
from lit_video.experiment.request import Run
from lit_video.experiment.spec import Spec, Specs, digests_of_files
from lit_video.runs.chosen_checkpoint import BEST, LAST
from lit_video.runs.folder import RUN, read_finished
from lit_video.runs.history import History
from lit_video.runs.record import Identity, Record, differences
from lit_video.settings.effects import DataEffect, data_names, picked
from lit_video.settings.nested import Nested
from lit_video.tables.results import SEED_KEY
from lit_video.utils.processes import started_together
from lit_video.weights.reading import CHECKPOINT_KEY

_logger = logging.getLogger(__name__)
NO_LISTING: tuple[DataEffect, ...] = ("pixels", "views", "counts", "test", "training", "machine", "broken")


def ask(spec: Spec, data: VideoDataModule) -> History:
    """Return the history of a run that begins or resumes; refuse the folder of another run."""
    run = spec.run
    before = read_history(run.folder)
    now = requested_identity(spec, data)
    if before is None:
        return History(now)
    before.refuse_other(run.folder, now, run.origin())
    return before.going_on(now)


def requested_identity(spec: Spec, data: VideoDataModule) -> Identity:
    """Prepare the data, and return the identity of the run with its videos."""
    videos = data.drawn_as
    if not videos:
        data.prepare_data()  # some data sets write their videos here
        videos = data_digest(data)
    return spec.identity(videos)


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


@dataclass
class FinishedRuns:
    """Runs that are known to be finished, because the videos of a run with the same data were compared in full."""

    _videos: dict[str, str] = field(default_factory=dict)  # digest of videos and labels by the data set's settings
    _resolved: dict[str, Nested] = field(default_factory=dict)  # by the settings of a run without its seed
    specs: Specs = field(default_factory=Specs)

    def knows(self, run: Run) -> bool:
        """Return whether a run is finished and is what is asked for; ``False`` if its videos are not known."""
        before = read_history(run.folder) if self._videos else None
        if before is None or not before.finished:
            return False

        key = json.dumps(run.settings | {SEED_KEY: None}, sort_keys=True, default=str)
        if key not in self._resolved:
            self._resolved[key] = self.specs.of(run).parsed
        settings = self._resolved[key] | {SEED_KEY: run.seed}
        videos = self._videos.get(_key(settings["data"]))
        if videos is None:
            return False

        # commit and versions need no comparison: with other code a finished run stays the same
        weights = digests_of_files(settings["model"]["init_args"])
        now = structs.replace(before.identity, settings=settings, data=videos, weights=weights)
        has_files = weights.keys() <= before.identity.weights.keys()
        return has_files and all(
            difference.kind in ("code", "folder") for difference in differences(before.identity, now)
        )

    def learn(self, history: History) -> None:
        """Remember the videos of a finished run that was compared in full."""
        self._videos[_key(history.identity.settings["data"])] = history.identity.data


def _key(data: Any) -> str:
    """Return the settings that decide which videos a data set has, as a text."""
    other = data_names(*NO_LISTING)
    kept = {name: value for name, value in data["init_args"].items() if name not in other}
    return json.dumps([data["class_path"], kept], sort_keys=True)
