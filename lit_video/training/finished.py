"""Finished runs, known from their records alone, without building a data set or a model.

A record holds a digest of everything that asked for its run. If the digest is the same now, so is the run.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.runs.folder import RUN, has_result, read_record, update_record
from lit_video.runs.history import History
from lit_video.schemes.loading import names_of
from lit_video.settings.effects import DataEffect, data_names, model_names
from lit_video.settings.nested import YAML, read_settings
from lit_video.training.identity import weights_digest
from lit_video.training.request import Run
from lit_video.utils.environment import versions
from lit_video.weights.hub import weights_path

NO_LISTING: tuple[DataEffect, ...] = ("pixels", "views", "counts", "test", "training", "machine", "broken")


@dataclass
class FinishedRuns:
    """Runs that are known to be finished; :meth:`learn` takes in those that were compared in full."""

    _videos: dict[str, str] = field(default_factory=dict)  # digest of videos and labels by the data set's settings

    def knows(self, run: Run) -> bool:
        """Return whether a run's record shows that it is finished and is what is asked for now; ``False`` if unsure."""
        if not has_result(run.folder):
            return False
        try:
            record = read_record(run.folder)
            identity = record.identity
            if identity is None or record.result is None or record.asked != asked(run):
                return False
            if self._videos.get(_key(identity.settings["data"])) != identity.data:
                return False
            return _same_files(identity.settings["model"]["init_args"], identity.weights)
        except (UserError, OSError, LookupError, TypeError):
            return False

    def learn(self, run: Run, history: History) -> None:
        """Remember a finished run that was compared in full."""
        identity = history.identity
        self._videos[_key(identity.settings["data"])] = identity.data
        try:
            if (run.folder / RUN).is_file() and read_record(run.folder).asked != asked(run):
                update_record(run.folder, asked=asked(run))
        except (UserError, OSError):  # the folder belongs to somebody else
            return


def asked(run: Run) -> str:
    """Return a digest of all that decides a run's settings: files, row, user's settings, seed, and this program."""
    files = [read_settings(path) for path in run.request.configs]
    user_settings = [[setting.flag, _named(setting.value)] for setting in run.request.user_settings]
    what = [files, run.row.settings, user_settings, run.seed, str(run.start), program()]
    return blake2b(json.dumps(what, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()


def _named(value: Any) -> str:
    """Return a digest of the file that a setting names, if any; empty for any other value."""
    path = Path(str(value))
    try:
        return blake2b(path.read_bytes(), digest_size=8).hexdigest() if path.suffix in (*YAML, ".py") else ""
    except OSError:
        return ""


@cache
def program() -> str:
    """Return a digest of this package's code and of the versions that numbers depend on."""
    folder = Path(__file__).parents[1]
    digest = blake2b(json.dumps(versions(), sort_keys=True).encode(), digest_size=8)
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _key(data: Any) -> str:
    """Return the settings that decide which videos a data set has, as a text."""
    other = data_names(*NO_LISTING)
    kept = {name: value for name, value in data["init_args"].items() if name not in other}
    return json.dumps([data["class_path"], kept], sort_keys=True)


def _same_files(model: Mapping[str, Any], weights: Mapping[str, str]) -> bool:
    """Return whether starting weights are as recorded; ``False`` with a user's own class, whose code may differ."""
    if names_of(model):
        return False
    for name in model_names("files"):
        recorded = weights.get(f"model.init_args.{name}")
        if recorded and recorded != weights_digest(weights_path(model[name]), model.get("weights_ema")):
            return False
    return True
