"""Finished runs, known from settings and records alone, without building a data set or a model."""

import json
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from lit_video.experiment.identity import read_history
from lit_video.experiment.request import Run
from lit_video.experiment.spec import Specs, digests_of_files
from lit_video.runs.history import History
from lit_video.runs.identity import differences
from lit_video.settings.effects import DataEffect, data_names
from lit_video.settings.nested import Nested
from lit_video.tables.results import SEED_KEY

NO_LISTING: tuple[DataEffect, ...] = ("pixels", "views", "counts", "test", "training", "machine", "broken")


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
        has_files = weights.keys() == before.identity.weights.keys()
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
