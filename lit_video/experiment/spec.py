"""Specification of a run: its settings, resolved once, which of them are not its row's, and its identity."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import Any

from jsonargparse import ArgumentError

from lit_video.errors import UserError
from lit_video.experiment.cli import Built, VideoCLI, is_changed_by_building, user_errors
from lit_video.experiment.constructors import Constructors
from lit_video.experiment.ignored import of_file, refuse_ignored
from lit_video.experiment.layers import of_files, with_user_settings
from lit_video.experiment.request import Run
from lit_video.runs.record import Identity, Override, differences
from lit_video.schemes.own_classes import names_of, source_file
from lit_video.settings.effects import data_names, model_names, picked
from lit_video.settings.nested import ARGUMENTS, CALLBACKS, CLASS, OWN, Nested, flatten, merged, short_key
from lit_video.utils.environment import commit, versions
from lit_video.weights.hub import weights_path
from lit_video.weights.reading import weights_digest


class Spec:
    """Specification of a run, made once and read by all: settings with defaults, their origins, identity.

    Args:
        run: a row of a table with a seed.
        beside: specification of another run, whose parser is used again: to make one takes a quarter of the time.

    Raises:
        UserError: a setting is unknown, wrong, or would have no effect.
    """

    def __init__(self, run: Run, beside: "Spec | None" = None) -> None:
        self.run = run
        request = run.request
        by_flag = [(setting.key, setting.value) for setting in request.user_settings]
        layers = [(run.origin(), run.row.settings.items()), *map(of_file, request.table.own), ("command line", by_flag)]
        refuse_ignored(request.base_files, layers, seed=run.seed)
        with user_errors(run.origin):
            self._cli: VideoCLI = beside._cli.with_settings(run.settings) if beside else VideoCLI(run.settings)
            self.parsed = self._cli.resolved()

    def build(self, device: str = "cpu") -> Built:
        """Build data set and model on a device, see :meth:`VideoCLI.build`."""
        with user_errors(self.run.origin):
            return self._cli.build(device)

    @property
    def settings(self) -> Nested:
        """All settings as plain data, once built with those of the weights that they name."""
        if is_changed_by_building(self.parsed["model"][ARGUMENTS]):
            return self._cli.resolved()
        return self.parsed

    def identity(self, videos: str) -> Identity:
        """Return what decides the run's numbers; ``videos`` is the digest of videos and labels."""
        settings = self.settings
        weights = digests_of_files(settings["model"]["init_args"])
        return Identity(settings, data=videos, weights=weights, commit=commit(), versions=versions())

    @cached_property
    def overridden(self) -> dict[str, Override]:
        """Settings that the user's own files and flags changed in the row, by key.

        If the table leaves so much to the user that its row cannot be read, every setting of the user's counts.
        """
        request = self.run.request
        if not (request.user_settings or request.table.own):
            return {}

        # the table may leave class and folder of the data to the user, which are then those of the run
        data = self.parsed["data"]
        place = {CLASS: data[CLASS], ARGUMENTS: picked(data[ARGUMENTS], data_names("folders"))}
        row: Nested | None = None
        with suppress(ArgumentError):
            settings = merged({"data": place}, self.run.row_settings, Constructors())
            row = self._cli.with_settings(settings).resolved()

        own = with_user_settings(of_files(request.table.own), request.user_settings)
        of_user = {short_key(key) for key in flatten(own)}

        changed = {}
        for difference in differences(Identity(row or {}), Identity(self.parsed)):
            key = short_key(difference.key)
            if difference.kind in ("folder", "spread") or (row is None and key not in of_user):
                continue
            is_callback = difference.key in (CALLBACKS, OWN)
            changed["trainer.callbacks" if is_callback else key] = Override(difference.was, difference.now)
        return changed


class Specs:
    """Specifications of several runs, all read by the parser of the first."""

    def __init__(self) -> None:
        self._first: Spec | None = None

    def of(self, run: Run) -> Spec:
        """Return the specification of a run."""
        spec = Spec(run, beside=self._first)
        self._first = self._first or spec
        return spec


def digests_of_files(model: Mapping[str, Any]) -> dict[str, str]:
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
