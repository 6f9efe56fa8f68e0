"""The table of temporal skills with a row for a scheme of the user's own, and words on what its training has shown."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from lit_video.runs.packs import pack_of
from lit_video.settings.nested import short_key
from lit_video.tables.table import LEFT_OPEN
from lit_video.utils.files import write_atomically
from lit_video.utils.text import plural
from lit_video.utils.yaml_files import EXPERIMENTS, read_yaml

if TYPE_CHECKING:
    from lit_video.runs.folder import FinishedRun
    from lit_video.tables.rendering import GroupAccuracies
    from lit_video.tables.summary import RowSummary

SKILLS_TABLE = "skills"
PROFILE_SCALE = "scale/half"
CONTROL = "control_timesformer"  # TimeSformer's row without attention over frames, trained beside a scheme


def write_skills_table(folder: Path, row: str, scheme: str, *, settings: Iterable[str] = ()) -> Path:
    """Write the skills table with a row for the scheme, and copy its packed runs, if any; return the table's file.

    The rows' runs are packed beside the tables, also in an installed package. They are not copied if the user changes
    ``settings``, by key, so that the scheme cannot be compared with them.
    """
    content: dict[str, Any] = read_yaml(EXPERIMENTS / f"{SKILLS_TABLE}.yaml")
    content |= {part: str(EXPERIMENTS / content[part]) for part in ("trainer", "data", "model")}
    rows = content["table"]["rows"]
    own = {"label": row, "set": rows["joint"]["set"] | {"model.attention_type": scheme}}
    content["table"]["rows"] = {row: own} | rows  # a built-in scheme keeps its own row

    file = folder / f"{SKILLS_TABLE}.yaml"
    write_atomically(file, yaml.safe_dump(content, sort_keys=False, width=120))
    pack = pack_of(folder / "runs" / SKILLS_TABLE)
    pack.parent.mkdir(exist_ok=True)
    pack.unlink(missing_ok=True)
    left_open = tuple(map(short_key, LEFT_OPEN))
    if _pack().is_file() and all(key.startswith(left_open) for key in settings):
        shutil.copyfile(_pack(), pack)
    return file


def unmeasured(rows: "Sequence[RowSummary]") -> str:
    """Say how many of the table's other rows, the scheme's references, were not run; empty if all were."""
    missing = sum(not row.seeds for row in rows)
    if not missing:
        return ""

    from lit_video.datamodules.temporal_skills import VERSION  # here, because it loads torch

    others = f"{missing} of {plural(len(rows) - 1, 'other row')} of {SKILLS_TABLE}"
    why = f"not run in version {VERSION} of the videos with these settings"
    return f"reference rows: {others}: {why}; to run them: fit -c {SKILLS_TABLE} -c {PROFILE_SCALE}"


def _pack() -> Path:
    """Return the pack of the table's runs at the scale of ``profile``."""
    return pack_of(EXPERIMENTS / "profile" / SKILLS_TABLE)


def learned_in_words(name: str, runs: "Sequence[FinishedRun]") -> list[str]:
    """Say, for each seed of a row, which skills its training has begun and finished, and which it cannot tell."""
    from lit_video.datamodules.temporal_skills import SKILLS  # here, because it loads torch
    from lit_video.tables.finishing import end_of

    lines = []
    for run in runs:
        told = SKILLS if run.result.told is None else run.result.told
        end = end_of(run, None, told)
        if end is None:
            continue
        done = {*told} - {*end.not_begun, *end.unfinished}
        parts = {
            "finished": [skill for skill in SKILLS if skill in done],
            "begun, and may only be late": end.unfinished,
            "not begun": end.not_begun,
            "not to be told from the frames that it compares": [skill for skill in SKILLS if skill not in told],
        }
        words = "; ".join(f"{title}: {', '.join(skills)}" for title, skills in parts.items() if skills)
        lines.append(f"{name}, seed {run.result.seed}, {plural(run.result.steps, 'step')}: {words}")
    return lines


def nearest_first(groups: "GroupAccuracies", name: str) -> "GroupAccuracies":
    """Put the row ``name`` first; sort the others by the L1 distance of their accuracies to those of that row."""
    import numpy as np  # here, because a command's help needs none of it

    rows, accuracies = zip(*groups.rows, strict=True)
    names = [row.name for row in rows]
    values = np.nan_to_num(np.array(accuracies, np.float64))  # 0 for None
    distances = np.abs(values - values[names.index(name)]).sum(1)
    return replace(groups, rows=[groups.rows[i] for i in distances.argsort(kind="stable")])
