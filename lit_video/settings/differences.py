"""Differences between the settings of two runs, and what each means for the runs.

Kinds of settings: those that affect no number (``FREE``), that say where the videos are (``FOLDERS``), that divide a
step's batch over devices (``SPREAD``), that make training longer (``LONGER``), and that affect the test alone
(``TESTS``). All others affect the trained weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lit_video.settings.effects import RUN_KEYS, data_keys, model_keys
from lit_video.settings.nested import OWN, flatten

# prefixes of settings that affect neither the model nor the numbers
FREE = (
    *("trainer.logger", "trainer.callbacks", "trainer.accelerator", "trainer.enable_", "trainer.log_every"),
    *("trainer.profiler", "trainer.default_root_dir", "trainer.max_time"),
    *(*RUN_KEYS["machine"], *data_keys("machine", "draws"), *model_keys("machine")),
)
# Lightning's callbacks that end with averaged weights, from which training cannot go on
AVERAGING = {"EMAWeightAveraging", "StochasticWeightAveraging", "WeightAveraging"}
# settings whose product is the batch of a step
BATCH = ("trainer.devices", "trainer.num_nodes", "data.init_args.batch_size", "trainer.accumulate_grad_batches")
SPREAD = (*BATCH, "trainer.strategy", "global_batch")
LONGER = ("trainer.max_epochs", "trainer.max_steps")
ENDLESS = (None, -1)  # values of LONGER that mean no limit
FOLDERS = data_keys("folders")
TESTS = data_keys("counts", "test")

DifferenceKind = Literal["code", "data", "folder", "spread", "longer", "test", "training"]


@dataclass(frozen=True)
class Difference:
    """One difference between two runs."""

    key: str  # a setting, data, commit or versions.NAME
    was: Any
    now: Any
    kind: DifferenceKind

    def __str__(self) -> str:
        return f"{self.key} was {self.was}, now it is {self.now}"


def setting_differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """Return the differences between flat settings that can affect numbers, sorted by key."""
    differences = []
    for key in sorted(was.keys() | now.keys()):
        if not key.startswith(FREE) and was.get(key) != now.get(key):
            kind = _kind(key, was, now)
            differences.append(Difference(key, was.get(key), now.get(key), kind))
    return differences


def _kind(key: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> DifferenceKind:
    """Return what a difference means for the runs."""
    if key == "commit" or key.startswith("versions."):
        return "code"
    if key in ("data", OWN):
        return "data"
    if key.startswith(FOLDERS):
        return "folder"
    if key.startswith(TESTS):
        return "test"
    if key in SPREAD and global_batch(now) and global_batch(was) == global_batch(now):
        return "spread"

    old = was.get(key)
    new = now.get(key)
    if key in LONGER and old not in ENDLESS and (new in ENDLESS or new > old):
        return "longer"
    return "training"


def lasting_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flat settings that cannot change within a run."""
    changing = (*FREE, *FOLDERS, *SPREAD, *LONGER)
    return {key: value for key, value in flatten(settings).items() if not key.startswith(changing)}


def global_batch(flat: Mapping[str, Any]) -> int | None:
    """Return the clips of an optimizer step over all devices, from flat settings; ``None`` if the machine decides."""
    if flat.get("global_batch"):
        return int(flat["global_batch"])
    clips = 1
    for key in BATCH:
        factor = flat.get(key, 1)
        if isinstance(factor, list):
            factor = len(factor)
        if not str(factor).isdecimal():
            return None
        clips *= int(factor)
    return clips or None
