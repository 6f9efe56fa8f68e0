"""Folders of runs and their files, in place or packed: record, status, learning curve; finished runs, with remarks.

A run is named by its folder ``RUNS/TABLE/SCALE/ROW/seedK``, packed or not. A record in the folder hides a packed one,
even before it has a result. ``run.json`` is a run's record, see :mod:`lit_video.runs.record`.
"""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from lit_video.errors import UserError
from lit_video.runs.packs import ENDING, SEED_FOLDER, PackedFiles, pack_of, packed_runs
from lit_video.runs.record import Change, Identity, Override, Record, Running, RunResult, State, Status
from lit_video.settings.differences import LONGER
from lit_video.settings.nested import OWN
from lit_video.utils.files import MOST_BYTES, MOST_PREDICTIONS, read_regular, read_whole, write_atomically, write_table
from lit_video.utils.text import plural

RUN = "run.json"
# depths of runs below a folder of runs; the last two are below own and own/NAME, which finetune writes
BELOW = ("", "*/", "*/*/", "*/*/*/", "*/*/*/*/", "runs/*/*/*/*/", "*/runs/*/*/*/*/")
DELETE_IT = "delete it and repeat the command"
RUNNING: tuple[State, ...] = get_args(Running)
CURVES = "curves.csv"
CURVE_COLUMNS = ("epoch", "step", "train/loss", "val/loss", "val/clip_top1", "val/clip_top5", "train/clip_top1")
Point = Mapping[str, float]
MOST_SETTINGS = 3  # settings named in a label
LONGEST = 40  # characters of a value


def run_folders(place: Path, damaged: list[UserError] | None = None) -> list[Path]:
    """Return the sorted folders of finished runs in a pack, a runs folder, or a folder in or above a runs folder.

    Errors of damaged packs are raised, or added to ``damaged``.
    """
    whole = place.absolute()
    if whole.is_file():
        return sorted(packed_runs(whole))

    folders = set[Path]()
    for below in BELOW:
        for path in place.glob(below + RUN):
            if has_result(path.parent):
                folders.add(path.parent)

    # packs in a runs folder, or those that hold a folder of a table, scale, row or run
    around = [pack_of(other) for other in (whole, *whole.parents[:3])]
    for pack in filter(Path.is_file, [*sorted(whole.glob(f"*{ENDING}")), *around]):
        try:
            packed = packed_runs(pack)
        except UserError as error:
            if damaged is None:
                raise
            damaged.append(error)
            continue
        for folder in packed:
            if folder.is_relative_to(whole) and not (folder / RUN).exists():
                folders.add(place / folder.relative_to(whole))
    return sorted(folders)


def seed_of(run_dir: Path) -> int | None:
    """Return the seed in a folder's name; ``None`` for any other name."""
    match = re.fullmatch(SEED_FOLDER, run_dir.name, re.ASCII)
    return int(match[1]) if match else None


def update_record(run_dir: Path, **parts: Any) -> None:
    """Replace parts of the record in a run's own folder atomically; ``None`` removes a part.

    The record in a pack is not continued: its result may be of a shorter training than the one that begins here.
    """
    record = read_record(run_dir) if (run_dir / RUN).exists() else Record()
    content = record.with_parts(**parts).plain()
    write_atomically(run_dir / RUN, json.dumps(content, indent=2, allow_nan=False) + "\n")


def read_record(run_dir: Path) -> Record:
    """Return the record of a run; without parts if there is none.

    Raises:
        UserError: the record is damaged, or of another version.
    """
    return read_whole(run_dir / RUN, lambda: Record.of_json(run_file(run_dir, RUN)), DELETE_IT) or Record()


def has_result(run_dir: Path) -> bool:
    """Return whether a folder's run is finished, even if its record is damaged."""
    try:
        return Record.of_json(read_regular(run_dir / RUN, MOST_BYTES)).result is not None
    except FileNotFoundError:
        return False
    except Exception:  # a damaged file can raise anything
        return True


def run_file(run_dir: Path, name: str) -> bytes:
    """Return a run's file; raise :class:`FileNotFoundError` without one, :class:`UserError` for a damaged pack."""
    files = packed_files(run_dir)
    if not files:
        return read_regular(run_dir / name, MOST_PREDICTIONS if name.endswith(".npz") else MOST_BYTES)
    if name not in files:  # files in the folder itself may be of an unfinished run
        raise FileNotFoundError(f"{name} of {run_dir} in its pack")
    return files[name]


def packed_files(run_dir: Path) -> PackedFiles:
    """Return the files of a packed run that has no record in its folder; empty for any other run."""
    folder = run_dir.absolute()
    if len(folder.parents) < 4:
        return {}

    pack = pack_of(folder.parents[2])
    if not pack.is_file() or (run_dir / RUN).exists():
        return {}
    return packed_runs(pack).get(folder, {})


def write_status(run_dir: Path, status: Status) -> None:
    """Write the state atomically; a failure to write must not stop the run."""
    try:
        update_record(run_dir, state=status)
    except (OSError, MemoryError, UserError):
        return


def read_status(run_dir: Path) -> Status | None:
    """Read the last state; ``None`` if missing or unreadable."""
    with suppress(Exception):  # a damaged file can raise anything
        return read_record(run_dir).state
    return None


def write_curves(run_dir: Path, points: Sequence[Point]) -> None:
    """Write the curve; a value that was not measured at a point stays empty.

    Columns beyond the usual ones, such as directions by skill, follow in the order of their first point.
    """
    columns = list(dict.fromkeys([*CURVE_COLUMNS, *(key for point in points for key in point)]))
    rows: list[Sequence[str]] = [columns]
    for point in points:
        texts = {key: f"{value:z.6g}" for key, value in point.items()}
        rows.append([texts.get(key, "") for key in columns])
    write_table(run_dir / CURVES, rows)


def read_curves(run_dir: Path) -> list[Point]:
    """Read the curve's points; empty if the run kept none."""
    return curves_and_file(run_dir)[0]


def curves_and_file(run_dir: Path) -> tuple[list[Point], bytes]:
    """Read the curve's points, and return them with the content of their file; both are empty if the run kept none."""

    def read() -> tuple[list[Point], bytes]:
        content = run_file(run_dir, CURVES)
        points: list[Point] = []
        for row in csv.DictReader(io.StringIO(content.decode(), newline="")):
            points.append({key: float(value) for key, value in row.items() if value})
        return points, content

    return read_whole(run_dir / CURVES, read, "delete it; the run's results are in other files") or ([], b"")


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
