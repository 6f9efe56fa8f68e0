"""Finished runs, and remarks on what their accuracies do not show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lit_video.runs.folder import DELETE_IT, RUN, run_file
from lit_video.runs.record import Change, Identity, Override, Record, RunResult
from lit_video.settings.differences import LONGER
from lit_video.settings.nested import OWN
from lit_video.utils.files import read_whole
from lit_video.utils.text import plural

MOST_SETTINGS = 3  # settings named in a label
LONGEST = 40  # characters of a value


@dataclass(frozen=True)
class FinishedRun:
    """A finished run: its result, its identity, and its changes while it went on."""

    folder: Path
    result: RunResult
    identity: Identity
    changes: Sequence[Change] = ()  # since the run began
    overridden: Mapping[str, Override] = field(default_factory=dict)  # settings that are not the row's, by key


def read_finished(run_dir: Path, anywhere: bool = False) -> FinishedRun | None:
    """Read a finished run; ``None`` if it is not finished.

    ``anywhere`` accepts a folder that does not have the names of the run's table, scale, row and seed.
    """

    def read() -> FinishedRun | None:
        record = Record.of_json(run_file(run_dir, RUN))
        result = record.result
        if result is None or record.identity is None:
            return None

        # a copied run would count twice
        own = {"table": result.table, "scale": result.scale, "row": result.row, "seed": f"seed{result.seed}"}
        folders = ("", "", "", "", *run_dir.absolute().parts)[-4:]
        for (key, value), folder in zip(own.items(), folders, strict=True):
            if value != folder and not anywhere:
                raise ValueError(f"its {key} is {value!r}, its folder says {folder!r}")
        return FinishedRun(run_dir, result, record.identity, list(record.changes or ()), result.overridden or {})

    return read_whole(run_dir / RUN, read, DELETE_IT)


def remarks(run: FinishedRun) -> list[str]:
    """Return remarks that belong beside an accuracy.

    Remarks name settings that are not the row's, test videos that were trained on or left out, and changes on the way.
    """
    result = run.result
    texts = []
    if result.test_seen:
        texts.append(f"{result.test_seen} of {result.test_videos} test videos trained on")
    if result.test_left_out:
        texts.append(f"{plural(result.test_left_out, 'test video')} left out")
    others: list[str] = []
    for key, setting in run.overridden.items():
        others.append(f"{key} {short_value(setting.used)}, not {short_value(setting.wanted)}")
    if len(others) > MOST_SETTINGS:
        others[MOST_SETTINGS:] = [f"{len(others) - MOST_SETTINGS} more settings are not the row's"]
    texts += others

    changed = {change.key for change in run.changes} & {"data", OWN, *LONGER}
    texts += [f"{key} changed during the training" for key in sorted(changed)]
    return texts


def short_value(value: Any) -> str:
    """Return a setting's value in a form that fits into a label; callbacks are named by their classes."""
    if isinstance(value, list) and value and all(isinstance(item, dict) and "class_path" in item for item in value):
        value = ", ".join(item["class_path"].rpartition(".")[2] for item in value)
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
