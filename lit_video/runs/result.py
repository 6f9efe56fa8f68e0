"""Result of a finished run, and what no accuracy shows of it."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any

from lit_video.runs.folder import AGAIN, RUN, run_file
from lit_video.settings.differences import LONGER
from lit_video.settings.flat import OWN
from lit_video.utils.files import read_whole
from lit_video.utils.text import plural

FOLDER = ("table", "scale", "row", "seed")
NUMBERS = ("params", "gmacs", "views", "seconds", "test_videos")
# types of a record's parts, which readers rely on
KINDS: dict[tuple[str, ...], tuple[type, ...]] = {
    ("changes",): (list,),
    ("identity", "settings"): (dict,),
    **{("identity", "settings", group): (dict,) for group in ("trainer", "model", "data")},
    ("identity", "settings", "global_batch"): (int, NoneType),
    ("identity", "data"): (str,),
    ("identity", "weights"): (dict,),
    ("identity", "commit"): (str,),
    ("identity", "versions"): (dict,),
    ("result", "metrics"): (dict,),
}
NAMED, LONGEST = 3, 40  # settings named in a label, and characters of a value


def read_result(run_dir: Path, anywhere: bool = False) -> dict[str, Any] | None:
    """Read the result of a finished run, with its identity and changes; ``None`` if it is not finished.

    ``anywhere`` accepts a copy whose path does not name its table, scale, row and seed.
    """
    path = run_dir / RUN
    return read_whole(path, lambda: _checked(path, json.loads(run_file(run_dir, RUN)), anywhere), AGAIN)


def _check_kinds(run: Mapping[str, Any]) -> None:
    """Raise a ValueError for a record with a list, say, where its readers expect a mapping."""
    for (*groups, name), kinds in KINDS.items():
        part: Any = run
        for group in groups:
            part = part[group]
        if name in part and not isinstance(part[name], kinds):
            raise ValueError(f"{'.'.join([*groups, name])} is of type {type(part[name]).__name__}")


def _checked(path: Path, run: dict[str, Any], anywhere: bool) -> dict[str, Any] | None:
    """Return the result; refuse non-finite numbers, and another run's result, which would count twice."""
    if run.get("result") is None:
        return None
    _check_kinds(run)
    identity, result = run["identity"], run["result"]
    said = (result["table"], result["scale"], result["row"], f"seed{result['seed']}")
    for key, own, value in zip(FOLDER, said, ("", "", "", *path.absolute().parts)[-5:-1], strict=True):
        if own != value and not anywhere:
            raise ValueError(f"its {key} is {own!r}, its folder says {value!r}")
    for name, value in ({key: result[key] for key in NUMBERS} | result["metrics"]).items():
        if not math.isfinite(value):
            raise ValueError(f"{name} is {value}")
    return result | {"commit": identity["commit"], "identity": identity, "changes": run["changes"]}


def remarks(result: Mapping[str, Any]) -> list[str]:
    """Say what no accuracy shows: settings other than the row's, test videos seen in training or left out, changes."""
    said, changed = [], {each["key"] for each in result["changes"]} & {"data", OWN, *LONGER}
    if known := result.get("test_seen"):
        said.append(f"{known} of {result['test_videos']} test videos trained on")
    if left := result.get("test_left_out"):
        said.append(f"{plural(left, 'test video')} left out")
    said += _overridden(result.get("overridden", {}))
    return [*said, *(f"{key} changed during the training" for key in sorted(changed))]


def _overridden(changed: Mapping[str, Sequence[Any]]) -> list[str]:
    """Say which settings are not the row's: up to ``NAMED``, then their number."""
    said = [f"{key} {short_value(used)}, not {short_value(wanted)}" for key, (wanted, used) in changed.items()]
    if len(said) > NAMED:
        said[NAMED:] = [f"{len(said) - NAMED} more settings are not the row's"]
    return said


def short_value(value: Any) -> str:
    """Return a setting's value for a label; a list of callbacks by their classes."""
    if isinstance(value, list) and value and all(isinstance(each, dict) and "class_path" in each for each in value):
        value = ", ".join(each["class_path"].rpartition(".")[2] for each in value)
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
