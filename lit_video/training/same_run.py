"""Rows of several tables that are one run under several names, or one training tested in several ways: trained once.

Of ``fit --reuse``. A folder whose result was taken says so (``same_run``); pictures in it, and W&B, name the run that
was trained. One that took the weights alone has the settings of its own test in ``changes``.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from lit_video.datamodules.probe import stamp
from lit_video.errors import UserError
from lit_video.tables.results import FILE, read_result
from lit_video.tables.status import FILE as STATUS
from lit_video.training.callbacks.checkpoints import SETTINGS_KEY
from lit_video.training.checkpoint_file import LAST, peek, write_checkpoint
from lit_video.training.same_settings import FREE, Changes, flatten
from lit_video.utils.files import write_atomically
from lit_video.utils.processes import started_together
from lit_video.utils.yaml_files import read_yaml
from lit_video.weights.reading import CHECKPOINT_KEY

# what may differ when a run goes on, but says which videos it saw
VIDEOS = ("data.init_args.root", "data.init_args.manifest")
# what no training depends on; the first two are also in a checkpoint's facts, by their last name
VIEWS = ("data.init_args.test_clips", "data.init_args.test_crops")
TESTS = (*VIEWS, "data.init_args.test_orders")


def finished_same(
    runs: Path,
    config: Mapping[str, Any],
    seed: int,
    commit: str,
    but: tuple[str, ...] = (),
    listed: str | None = None,
) -> Path | None:
    """Folder of a finished run, of any table, that had these settings, this seed, this code and this data.

    Args:
        runs: folder of the runs.
        config: resolved settings; a file of weights that they name must not have changed since.
        seed: of the run.
        commit: of the code.
        but: settings that may differ.
        listed: digest of the videos and labels, see :func:`~lit_video.training.same_settings.listed`.

    Raises:
        UserError: the code has no commit of its own, or this process is one of several that look by themselves.
    """
    if started_together():
        raise UserError("--reuse: not for a run whose processes torchrun or srun starts; leave it out")
    if commit == "unknown" or "+" in commit:
        raise UserError(f"--reuse: the code is not a commit's ({commit}), so no run is known as the same; leave it out")
    wanted = _numbers(config, but)
    for path in sorted(runs.glob(f"*/*/*/seed{seed}/{FILE}")):
        try:
            result = read_result(path.parent)
            if not result or result["commit"] != commit or result.get("changes") or result.get("skipped_steps"):
                continue  # steps that --nan skip:N left out end another run as failed
            if (listed and result.get("data_digest") != listed) or _weights_since(config, result):
                continue
            if _numbers(read_yaml(path.with_name("config.yaml")), but) == wanted:
                return path.parent
        except (UserError, ValueError):
            continue  # damaged: trained again
    return None


def _weights_since(config: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Whether a file that training starts from has changed since a run began: its path alone says nothing."""
    model = config["model"]["init_args"]
    files = [Path(given) for name in ("weights", "image_weights") if (given := model.get(name))]
    begun = datetime.fromisoformat(result.get("finished", "1970-01-01T00:00:00+00:00")).timestamp() - result["seconds"]
    return any((stamp(file, "").mtime or 0) > 1e9 * begun for file in files if file.exists())


def first_of_each(configs: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Which of some runs is the first of its training: none before it differs in no more than its test."""
    seen: list[dict[str, Any]] = []
    firsts = []
    for numbers in (_numbers(config, TESTS) for config in configs):
        firsts.append(numbers not in seen)
        seen.append(numbers)
    return firsts


def take_result(source: Path, run_dir: Path, facts: Mapping[str, Any]) -> None:
    """Copy a finished run to another's folder; its checkpoint takes no more space where the disk has links.

    Args:
        source: folder of the finished run.
        run_dir: of the other.
        facts: of ``result.json`` that are the other's: table, row, scale.
    """
    for path in source.iterdir():
        if path.is_file() and path.name not in (FILE, STATUS, "lock"):
            _link(path, run_dir / path.name)
    result = json.loads((source / FILE).read_text(encoding="utf-8"))
    result |= dict(facts) | {"same_run": "/".join(source.parts[-4:])}
    write_atomically(run_dir / FILE, json.dumps(result, indent=2, allow_nan=False) + "\n")


def take_weights(source: Path, run_dir: Path, config: Mapping[str, Any]) -> Changes:
    """Copy the last checkpoint and curve of a finished run to one that differs in its test, as if they were its own.

    Args:
        source: folder of the finished run.
        run_dir: of the other.
        config: its resolved settings.

    Returns:
        The settings of the test that differ: what the training had, and what the test will have.
    """
    old, new = flatten(read_yaml(source / "config.yaml")), flatten(config)
    changes = {key: (old.get(key), new.get(key)) for key in TESTS if old.get(key) != new.get(key)}
    content = peek(source / LAST)
    content[SETTINGS_KEY] = dict(config)
    seen = content[CHECKPOINT_KEY]["data"]
    seen |= {name: new[key] for key in VIEWS if (name := key.rpartition(".")[2]) in seen}
    shutil.copy2(source / "curves.csv", run_dir)
    write_checkpoint(content, run_dir / LAST)
    return changes


def _numbers(config: Mapping[str, Any], but: tuple[str, ...]) -> dict[str, Any]:
    """The flat settings that numbers depend on."""
    flat = {key: value for key, value in flatten(config).items() if key not in but}
    return {key: value for key, value in flat.items() if key.startswith(VIDEOS) or not key.startswith(FREE)}


def _link(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
