"""Identity of a run, and the changes that keep it the same run.

A run is its settings, its videos and labels, the weights that it starts from, and its code. The run stays the same if

- settings that affect no number (``FREE``) or tell where the videos are (``FOLDERS``) change;
- a step's batch is divided over other devices (``SPREAD``), or other code resumes the run; ``changes`` records both;
- training becomes longer, unless its weights are averaged or the run is packed and so has no checkpoint;
- its videos, labels or a user's own callbacks change before it is finished.

Any other change of a setting, video, label or starting weight makes another run. ``fit --reuse`` takes the weights of
another run with the same code and videos if only settings of the test differ (``TESTS``). Rows of a table are compared
only if they differ in nothing but the seed and the rows' own settings.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from lit_video.errors import UserError
from lit_video.runs.folder import packed_files
from lit_video.settings.effects import RUN, data_keys, model_keys
from lit_video.settings.nested import by_key, short_key

# prefixes of settings that affect neither the model nor the numbers
FREE = (
    *("trainer.logger", "trainer.callbacks", "trainer.accelerator", "trainer.enable_", "trainer.log_every"),
    *("trainer.profiler", "trainer.default_root_dir", "trainer.max_time"),
    *(*RUN["machine"], *data_keys("machine", "draws"), *model_keys("machine")),
)
# Lightning's callbacks that end with averaged weights, from which training cannot go on
AVERAGING = {"EMAWeightAveraging", "StochasticWeightAveraging", "WeightAveraging"}
# Lightning's callbacks that cannot change results; any other one may
SHOWING = {"DeviceStatsMonitor", "LearningRateMonitor", "RichModelSummary", "RichProgressBar", "TQDMProgressBar"}
CALLBACKS, OWN = "counting callbacks", "own callbacks"  # flat keys of Lightning's other callbacks and a user's own
# settings whose product is the batch of a step
BATCH = ("trainer.devices", "trainer.num_nodes", "data.init_args.batch_size", "trainer.accumulate_grad_batches")
SPREAD = (*BATCH, "trainer.strategy", "global_batch")
LONGER = ("trainer.max_epochs", "trainer.max_steps")
ENDLESS = (None, -1)  # values of LONGER
FOLDERS = data_keys("folders")
TESTS = data_keys("counts", "test")

Plain = str | int | float | bool
Kind = Literal["code", "data", "folder", "spread", "longer", "test", "training"]


@dataclass(frozen=True)
class Identity:
    """Identity of a run, kept in its folder and its checkpoints."""

    settings: Mapping[str, Any]  # resolved configuration
    data: str = ""  # digest of the videos and labels, or the name of TemporalSkills' folder
    weights: Mapping[str, str] = field(default_factory=dict)  # digests of starting weights and scheme code, by setting
    commit: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)  # packages that numbers depend on

    @property
    def flat(self) -> dict[str, Any]:
        """Identity as a flat dict, keys joined with dots."""
        versions = {f"versions.{name}": number for name, number in self.versions.items()}
        return flatten(self.settings) | {"data": self.data, "commit": self.commit} | versions


@dataclass(frozen=True)
class Difference:
    """One difference between two identities."""

    key: str  # a setting, data, commit or versions.NAME
    was: Any
    now: Any
    kind: Kind

    def __str__(self) -> str:
        return f"{self.key} was {self.was}, now it is {self.now}"


def differences(old: Identity, new: Identity) -> list[Difference]:
    """Return the differences that can affect numbers, sorted by key."""
    was, now = old.flat, new.flat
    for key in old.weights.keys() & new.weights.keys():  # compare digests: a file may be renamed
        if old.weights[key] == new.weights[key]:
            was[key] = now[key]
        else:
            was[key], now[key] = f"{was.get(key)} ({old.weights[key]})", f"{now.get(key)} ({new.weights[key]})"
    found = []
    for key in sorted(was.keys() | now.keys()):
        if not key.startswith(FREE) and was.get(key) != now.get(key):
            found.append(Difference(key, was.get(key), now.get(key), _kind(key, was, now)))
    return found


def _kind(key: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Kind:
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
    old, new = was.get(key), now.get(key)
    if key in LONGER and old not in ENDLESS and (new in ENDLESS or new > old):
        return "longer"
    return "training"


@dataclass(frozen=True)
class Record:
    """Identity and changes of a run, kept in its checkpoints and its result."""

    identity: Identity  # identity of the last attempt
    changes: list[dict[str, Any]] = field(default_factory=list)  # changes since the run began: key, from, to
    finished: bool = False  # True if there is a result, and its training was at least as long as requested
    news: list[Difference] = field(default_factory=list)  # changes since the last attempt

    def going_on(self, now: Identity) -> "Record":
        """Return the record of this run once it is resumed with the identity ``now``."""
        news = [each for each in differences(self.identity, now) if each.kind != "folder"]
        changes = [{"key": each.key, "from": each.was, "to": each.now} for each in news]
        return Record(now, self.changes + changes, self.finished and all(each.kind != "longer" for each in news), news)

    def content(self) -> dict[str, Any]:
        """Return identity and changes for a file."""
        return {"identity": asdict(self.identity), "changes": self.changes}

    def refuse_other(self, run_dir: Path, now: Identity, where: str) -> None:
        """Refuse ``now`` if it is another run than the folder's; ``where`` names the origin of the settings."""
        reasons: dict[Kind, str] = {"training": "", "test": ""}
        if self.finished:
            reasons["data"] = " (other videos, labels or callbacks)"
        callbacks = flatten(now.settings).get(CALLBACKS, [])
        if any(_lightning_name(each) in AVERAGING for each in callbacks):
            reasons["longer"] = " (averaged weights cannot be trained longer)"
        if packed_files(run_dir):
            reasons["longer"] = " (packed, without a checkpoint to go on from)"
        for each in differences(self.identity, now):
            if each.kind in reasons:
                why = f"{run_dir} is another run: {each}{reasons[each.kind]}"
                raise UserError(f"{where}: {why}; give another --runs, or delete that folder")


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


def flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Join nested keys by dots; callbacks that may affect numbers form one setting."""
    flat = by_key(settings)
    callbacks = (settings.get("trainer") or {}).get("callbacks") or []

    for callback in callbacks if isinstance(callbacks, list) else [callbacks]:
        name = _lightning_name(callback)
        if name not in SHOWING:
            flat.setdefault(CALLBACKS if name else OWN, []).append(callback)
    return flat


def _lightning_name(callback: object) -> str:
    """Return the name of a callback of Lightning's; empty for any other one."""
    if not isinstance(callback, dict):
        return ""
    package, _, name = str(callback.get("class_path")).rpartition(".")
    return name if package.partition(".")[0] in ("", "lightning", "pytorch_lightning") else ""


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Plain]:
    """Return plain values by flat key for W&B.

    The key of ``model.size.embed_dim`` is ``size_embed_dim``, because W&B nests keys at dots. A class becomes its
    name, and a list becomes its comma-separated values; unset values are left out.
    """
    plain: dict[str, Plain] = {}
    for key, value in by_key(settings).items():
        group, *parts = short_key(key).split(".")
        if key.endswith("class_path"):
            value = str(value).rpartition(".")[2]
        if isinstance(value, list | tuple) and value and all(isinstance(part, Plain) for part in value):
            value = ",".join(map(str, value))
        if isinstance(value, Plain):
            plain["_".join(parts) or group] = value
    return plain
