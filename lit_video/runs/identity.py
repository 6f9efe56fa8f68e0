"""Identity of a run, and the differences of two: settings that change numbers, data, weights, commit, versions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

# settings that change neither the model nor the numbers, by the start of their key
FREE = (
    *("trainer.logger", "trainer.callbacks", "trainer.accelerator", "trainer.enable_", "trainer.log_every"),
    *("trainer.profiler", "trainer.default_root_dir", "trainer.max_time"),
    *("data.init_args.num_workers", "data.init_args.keep_gb", "data.init_args.source"),
    *("model.init_args.activation_checkpointing", "checkpoint_every", "compile", "nan", "wandb_artifact"),
)
# callbacks of Lightning that leave the average, at the end, in place of the weights that training would go on with
AVERAGING = {"EMAWeightAveraging", "StochasticWeightAveraging", "WeightAveraging"}
# those that change results: besides these, ends of training and changes of what is trained
COUNTING = AVERAGING | {
    "BackboneFinetuning",
    "EarlyStopping",
    "GradientAccumulationScheduler",
    "ModelCheckpoint",
    "ModelPruning",
}
CALLBACKS = "counting callbacks"  # these, among the flat settings
# settings whose product is the batch of a step
BATCH = ("trainer.devices", "trainer.num_nodes", "data.init_args.batch_size", "trainer.accumulate_grad_batches")
SPREAD = (*BATCH, "trainer.strategy", "global_batch")
LONGER = ("trainer.max_epochs", "trainer.max_steps")
# where the videos are: equal listings may have other pixels, as after ``data prepare``
PLACES = ("data.init_args.root", "data.init_args.manifest")
# settings of the test alone; the first two are also in a checkpoint's facts, by their last name
VIEWS = ("data.init_args.test_clips", "data.init_args.test_crops")
TESTS = (*VIEWS, "data.init_args.test_orders", "data.init_args.groups")

Plain = str | int | float | bool
# code; data as listed; place of the videos; spread of a step over devices; a longer training; a setting of the test
# alone; any other setting of the training
Kind = Literal["code", "data", "place", "spread", "longer", "test", "training"]


@dataclass(frozen=True)
class Identity:
    """Identity of a run, kept in its folder and its checkpoints."""

    settings: Mapping[str, Any]  # the resolved configuration
    data: str = ""  # digest of the videos and labels, or the name of drawn videos
    weights: Mapping[str, str] = field(default_factory=dict)  # digests of what training starts from, by setting
    commit: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)  # of the packages that numbers depend on

    @property
    def flat(self) -> dict[str, Any]:
        """All of it by keys joined with dots."""
        code = {"commit": self.commit} | {f"versions.{name}": number for name, number in self.versions.items()}
        return flatten(self.settings) | {"data": self.data} | code


@dataclass(frozen=True)
class Difference:
    """One thing in which a run differs from what it was."""

    key: str  # of a setting, or data, commit, versions.NAME
    was: Any
    now: Any
    kind: Kind

    def __str__(self) -> str:
        return f"{self.key} was {self.was}, now it is {self.now}"


def differences(old: Identity, new: Identity) -> list[Difference]:
    """How a run differs from one before, by key; nothing for two that have the same numbers."""
    was, now = old.flat, new.flat
    for key in old.weights.keys() & new.weights.keys():  # by their values: a file may have another name
        same = old.weights[key] == new.weights[key]
        was[key] = now[key] if same else f"{was.get(key)} ({old.weights[key]})"
        now[key] = now[key] if same else f"{now.get(key)} ({new.weights[key]})"
    keys = sorted(key for key in was.keys() | now.keys() if not key.startswith(FREE) and was.get(key) != now.get(key))
    return [Difference(key, was.get(key), now.get(key), _kind(key, was, now)) for key in keys]


def _kind(key: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Kind:
    if key == "commit" or key.startswith("versions."):
        return "code"
    if key == "data":
        return "data"
    if key.startswith(PLACES):
        return "place"
    if key.startswith(TESTS):
        return "test"
    batches = global_batch(was), global_batch(now)
    if key in SPREAD and None not in batches and batches[0] == batches[1]:
        return "spread"
    limits = [math.inf if limit in (None, -1) else limit for limit in (was.get(key), now.get(key))]
    return "longer" if key in LONGER and limits[1] > limits[0] else "training"


def is_longer(found: Sequence[Difference]) -> bool:
    """Whether training goes on beyond where it ended before."""
    return any(each.kind == "longer" for each in found)


def lasting_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The flat settings that a run keeps for life."""
    changing = (*FREE, *PLACES, *SPREAD, *LONGER)
    return {key: value for key, value in flatten(settings).items() if not key.startswith(changing)}


def averages(settings: Mapping[str, Any]) -> bool:
    """Whether a training ends with averaged weights, from which it cannot go on."""
    return bool(_of_kinds(flatten(settings).get(CALLBACKS, []), AVERAGING))


def global_batch(flat: Mapping[str, Any]) -> int | None:
    """Clips of an optimizer's step over all devices, from flat settings; ``None`` where the machine decides."""
    if flat.get("global_batch"):
        return int(flat["global_batch"])
    devices = flat.get("trainer.devices", 1)
    factors = [len(devices) if isinstance(devices, list) else devices, *(flat.get(key, 1) for key in BATCH[1:])]
    numbers = [int(factor) if str(factor).isdecimal() else 0 for factor in factors]
    return math.prod(numbers) or None


def flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Join nested keys by dots; callbacks that numbers depend on are a setting of their own."""
    flat = _flat(settings)
    given = flat.get("trainer.callbacks") or []
    named = [callback for callback in (given if isinstance(given, list) else [given]) if isinstance(callback, dict)]
    counting = _of_kinds(named, COUNTING)
    return flat | ({CALLBACKS: counting} if counting else {})


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Plain]:
    """Settings as flat keys and plain values, by which W&B groups and filters: ``window``, ``size_width``, ``model``.

    W&B reads a dot as a nested key, so parts of a key are joined by an underscore, without the group's name; where two
    groups have a setting of the same name, the later one's value stands. A class gives its name, a list of plain values
    their text with commas; what is not set is left out.
    """
    plain: dict[str, Plain] = {}
    for key, value in _flat(settings).items():
        group, *parts = [part for part in key.split(".") if part not in ("class_path", "init_args")]
        if key.endswith("class_path"):
            value = str(value).rpartition(".")[2]
        if isinstance(value, list | tuple) and value and all(isinstance(part, Plain) for part in value):
            value = ",".join(map(str, value))
        if isinstance(value, Plain):
            plain["_".join(parts) or group] = value
    return plain


def _of_kinds(callbacks: list[dict[str, Any]], kinds: set[str]) -> list[dict[str, Any]]:
    return [callback for callback in callbacks if str(callback.get("class_path")).rpartition(".")[2] in kinds]


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
