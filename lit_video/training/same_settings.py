"""Whether a run's folder was made with the settings that are given now, and what may change when it goes on."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lit_video.errors import UserError
from lit_video.tables.run_files import packed_files
from lit_video.training.callbacks.checkpoints import SETTINGS_KEY
from lit_video.training.checkpoint_file import LAST, PREVIOUS, damage, peek
from lit_video.utils.files import write_atomically
from lit_video.utils.yaml_files import read_yaml

# settings that change neither the model nor the numbers, by the start of their key
FREE = (
    "trainer.logger",
    "trainer.callbacks",
    "trainer.accelerator",
    "trainer.enable_",
    "trainer.log_every",
    "trainer.profiler",
    "trainer.default_root_dir",
    "trainer.max_time",
    "data.init_args.num_workers",
    "data.init_args.keep_gb",
    "data.init_args.root",
    "data.init_args.manifest",
    "data.init_args.source",
    "model.init_args.activation_checkpointing",
    "checkpoint_every",
    "compile",
    "nan",
)
# callbacks of Lightning that leave the average, at the end, in place of the weights that training would go on with
AVERAGING_CALLBACKS = {"EMAWeightAveraging", "StochasticWeightAveraging", "WeightAveraging"}
# those that change results: besides these, ends of training and changes of what is trained
COUNTING_CALLBACKS = AVERAGING_CALLBACKS | {
    "BackboneFinetuning",
    "BatchSizeFinder",
    "EarlyStopping",
    "GradientAccumulationScheduler",
    "LearningRateFinder",
    "ModelCheckpoint",
    "ModelPruning",
}
CALLBACKS = "counting callbacks"  # these, among the flat settings
# settings whose product is the batch of a step
BATCH = ("trainer.devices", "trainer.num_nodes", "data.init_args.batch_size", "trainer.accumulate_grad_batches")
SPREAD = (*BATCH, "trainer.strategy", "global_batch")
LONGER = ("trainer.max_epochs", "trainer.max_steps")

Changes = dict[str, tuple[Any, Any]]
CHANGES = "changes.json"  # in a run's folder


def same_settings(run_dir: Path, config: Mapping[str, Any], where: str) -> Changes:
    """Refuse to take a run's folder for a run with other settings.

    Training may become longer, unless weights are averaged, and be spread over other devices with the same batch of a
    step.

    Returns:
        Those settings that changed, with their old and new values.

    Raises:
        UserError: the folder holds results or a checkpoint made with other settings; names the first that differs.
    """
    packed = packed_files(run_dir)  # has no checkpoint to go on from
    if not packed and not any((run_dir / name).exists() for name in (LAST, PREVIOUS, "result.json")):
        return {}
    stored = yaml.safe_load(packed["config.yaml"]) if "config.yaml" in packed else _stored(run_dir)
    if stored is None:
        return {}
    old, new = flatten(stored), flatten(config)
    keys = sorted(key for key in old.keys() | new.keys() if not key.startswith(FREE) and old.get(key) != new.get(key))
    batches = global_batch(old), global_batch(new)
    same_batch = None not in batches and batches[0] == batches[1]
    averages = bool(_of_kinds(new.get(CALLBACKS, []), AVERAGING_CALLBACKS))
    changes: Changes = {}
    for key in keys:
        was, now = old.get(key), new.get(key)
        longer = _longer(key, was, now)
        if (not longer or averages or packed) and not (same_batch and key in SPREAD):
            averaged = " (with averaged weights training cannot become longer)" if longer and not packed else ""
            why = " (packed, without a checkpoint to go on from)" if packed else averaged
            raise UserError(
                f"{where}: {run_dir} was made with {key} = {was}, now it is {now}{why}; "
                "give another --runs, or delete that folder"
            )
        changes[key] = (was, now)
    return changes


def identity(config: Mapping[str, Any]) -> dict[str, Any]:
    """The flat settings that a run keeps for life."""
    changing = (*FREE, *SPREAD, *LONGER)
    return {key: value for key, value in flatten(config).items() if not key.startswith(changing)}


def is_longer(changes: Changes) -> bool:
    """Whether training goes on beyond where it ended before."""
    return any(key in changes for key in LONGER)


def global_batch(flat: Mapping[str, Any]) -> int | None:
    """Clips of an optimizer's step over all devices, from flat settings; ``None`` where the machine decides."""
    if flat.get("global_batch"):
        return int(flat["global_batch"])
    devices = flat.get("trainer.devices", 1)
    factors = [len(devices) if isinstance(devices, list) else devices, *(flat.get(key, 1) for key in BATCH[1:])]
    numbers = [int(factor) if str(factor).isdecimal() else 0 for factor in factors]
    return math.prod(numbers) or None


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """Join nested keys by dots; callbacks that numbers depend on are a setting of their own."""
    flat = _flat(config)
    given = flat.get("trainer.callbacks") or []
    named = [callback for callback in (given if isinstance(given, list) else [given]) if isinstance(callback, dict)]
    counting = _of_kinds(named, COUNTING_CALLBACKS)
    return flat | ({CALLBACKS: counting} if counting else {})


def _of_kinds(callbacks: list[dict[str, Any]], kinds: set[str]) -> list[dict[str, Any]]:
    return [callback for callback in callbacks if str(callback.get("class_path")).rpartition(".")[2] in kinds]


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _longer(key: str, was: Any, now: Any) -> bool:
    """Whether a limit of training has risen; -1 and null are none."""
    if key not in LONGER:
        return False
    limits = [math.inf if limit in (None, -1) else limit for limit in (was, now)]
    return bool(limits[1] > limits[0])


def _stored(run_dir: Path) -> dict[str, Any] | None:
    """Settings of the folder: of ``config.yaml``, or, if that is damaged or gone, of the checkpoint.

    ``None`` for a folder that has no checkpoint to go on from either.
    """
    path = run_dir / "config.yaml"
    try:
        if path.exists():
            return read_yaml(path)
    except UserError as error:
        reason = str(error)
    else:
        reason = f"{path}: missing"
    checkpoints = [path for path in (run_dir / LAST, run_dir / PREVIOUS) if path.exists()]
    if not checkpoints and not path.exists():
        return None  # a result alone
    whole = [checkpoint for checkpoint in checkpoints if not damage(checkpoint)]
    for checkpoint in whole:
        content = peek(checkpoint)
        if SETTINGS_KEY in content:
            return dict(content[SETTINGS_KEY])
    if not whole and not (run_dir / "result.json").exists():
        return None
    raise UserError(f"{reason}; what {run_dir} was made with is not known: give another --runs, or delete that folder")


def record_changes(run_dir: Path, changes: Changes) -> None:
    """Add changed settings to those of earlier attempts.

    Raises:
        UserError: those cannot be read.
    """
    before = recorded_changes(run_dir)
    new = [{"key": key, "from": was, "to": now} for key, (was, now) in changes.items()]
    if not new or new == before[-len(new) :]:  # recorded by an attempt that ended before it kept the new settings
        return
    write_atomically(run_dir / CHANGES, json.dumps([*before, *new], indent=2) + "\n")
    for change in new:
        print(f"{run_dir}: {change['key']} was {change['from']}, from here on {change['to']}", flush=True)


def recorded_changes(run_dir: Path) -> list[dict[str, Any]]:
    """Settings that changed while a run was stopped, in order."""
    try:
        changes: list[dict[str, Any]] = json.loads((run_dir / CHANGES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except ValueError:
        raise UserError(f"{run_dir / CHANGES}: damaged; delete it, the settings are in config.yaml") from None
    return changes
