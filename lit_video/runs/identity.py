"""Identity of a run: its settings, its videos and labels, the weights that it starts from, and its code."""

from collections.abc import Mapping
from typing import Any

import msgspec

from lit_video.settings.differences import Difference, setting_differences
from lit_video.settings.flat import flatten

SETTING_GROUPS = ("trainer", "model", "data")  # settings of a resolved configuration that are mappings


class Identity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Identity of a run, kept in its folder and its checkpoints."""

    settings: Mapping[str, Any]  # resolved configuration
    data: str = ""  # digest of the videos and labels, or the name of TemporalSkills' folder
    weights: Mapping[str, str] = {}  # digests of starting weights and scheme code, by setting
    commit: str = ""
    versions: Mapping[str, str] = {}  # packages that numbers depend on

    def __post_init__(self) -> None:
        for name in SETTING_GROUPS:
            if not isinstance(self.settings.get(name, {}), Mapping):
                raise TypeError(f"settings.{name}: expected a mapping, got {type(self.settings[name]).__name__}")
        if not isinstance(self.settings.get("global_batch"), int | None):
            raise TypeError(f"settings.global_batch: expected a number, got {self.settings['global_batch']!r}")

    @property
    def flat(self) -> dict[str, Any]:
        """Identity as a flat dict, keys joined with dots."""
        versions = {f"versions.{name}": number for name, number in self.versions.items()}
        return flatten(self.settings) | {"data": self.data, "commit": self.commit} | versions

    def without_weights(self) -> "Identity":
        """Return the identity without the digests of weights, so that a comparison looks at their names."""
        return msgspec.structs.replace(self, weights={})


def differences(old: Identity, new: Identity) -> list[Difference]:
    """Return the differences that can affect numbers, sorted by key."""
    was = old.flat
    now = new.flat
    for key in old.weights.keys() & new.weights.keys():  # compare digests, because a file may be renamed
        if old.weights[key] == new.weights[key]:
            was[key] = now[key]
        else:
            was[key] = f"{was.get(key)} ({old.weights[key]})"
            now[key] = f"{now.get(key)} ({new.weights[key]})"
    return setting_differences(was, now)
