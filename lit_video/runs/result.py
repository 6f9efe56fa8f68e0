"""Result, learning curve, state, checkpoint and folder of a run."""

import csv
import io
import json
import math
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from errno import EACCES, EDQUOT, EEXIST, EFBIG, EIO, ELOOP, ENOENT, ENOLCK, ENOSPC, ENOTDIR, EPERM, EROFS
from pathlib import Path
from tempfile import TemporaryFile
from types import NoneType
from typing import Any, Literal, get_args

from filelock import FileLock, Timeout

from lit_video.errors import OptionError, UserError
from lit_video.runs.folder import AGAIN, RUN, read_run, run_file, update_run
from lit_video.runs.identity import LONGER, OWN
from lit_video.utils.files import read_whole, user_path, write_table
from lit_video.utils.processes import job_name, refuse_output
from lit_video.utils.text import plural

CURVES = "curves.csv"
COLUMNS = ("epoch", "step", "train/loss", "val/loss", "val/clip_top1", "val/clip_top5", "train/clip_top1")
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
LAST, BEST = "last.ckpt", "best"  # checkpoint of a run, and subfolder for ModelCheckpoint's files
NAMED, LONGEST = 3, 40  # settings named in a label, and characters of a value
WAYS = "give a run's last.ckpt or its folder"
REFUSALS = {ENOLCK, ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, EPERM, EEXIST, ENOTDIR, EIO, ELOOP}
Point = Mapping[str, float]


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


def write_curves(run_dir: Path, points: Sequence[Point]) -> None:
    """Write the curve; unmeasured values stay empty."""
    rows: list[Sequence[str]] = [COLUMNS]
    for point in points:
        texts = {key: f"{value:.6g}" for key, value in point.items()}
        rows.append([texts.get(key, "") for key in COLUMNS])
    write_table(run_dir / CURVES, rows)


def read_curves(run_dir: Path) -> list[Point]:
    """Read the curve's points; empty if the run kept none."""

    def read() -> list[Point]:
        points: list[Point] = []
        for row in csv.DictReader(io.StringIO(run_file(run_dir, CURVES).decode(), newline="")):
            points.append({key: float(value) for key, value in row.items() if value})
        return points

    return read_whole(run_dir / CURVES, read, "delete it; the run's results are in other files") or []


Running = Literal["starting", "image model", "preparing data", "training", "testing", "writing"]
State = Literal[Running, "queued", "preempted", "stopped", "failed"]
RUNNING: tuple[State, ...] = get_args(Running)


@dataclass(frozen=True)
class Status:
    """State of a run; numbers are 0 while unknown.

    ``queued``: in Slurm's queue. Without a result: ``preempted`` (resumes by itself or by the same command),
    ``stopped`` (Ctrl-C or SIGTERM), ``failed`` (an error).
    """

    state: State
    step: int = 0  # optimizer step
    steps: int = 0  # in the whole training
    clips_per_second: float = 0.0
    seconds_left: float = 0.0  # until training ends
    data_wait: float = 0.0  # percent of the training time spent waiting for data
    message: str = ""  # why the run ended, in one line
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)  # rank 0
    job: str = field(default_factory=job_name)  # Slurm's job number
    time: float = field(default_factory=time.time)  # time of writing, in seconds since 1970


def write_status(run_dir: Path, status: Status) -> None:
    """Write the state atomically; a failure to write must not stop the run."""
    try:
        update_run(run_dir, state=asdict(status))
    except (OSError, MemoryError, UserError):
        return


def read_status(run_dir: Path) -> Status | None:
    """Read the last state; ``None`` if missing or unreadable."""
    with suppress(Exception):  # a damaged file can raise anything
        status = Status(**read_run(run_dir)["state"])
        if status.state in get_args(State):
            return status
    return None


def find_checkpoint(text: str) -> Path:
    """Return a checkpoint's file; for a run's folder, the checkpoint that was tested."""
    path = user_path(text)
    if not path.exists():
        raise OptionError("ckpt", f"{text}: no such file; {WAYS}")
    if not path.is_dir():
        return path
    for checkpoint in (tested(path), path / "model.safetensors"):
        if checkpoint.is_file():
            return checkpoint
    raise OptionError("ckpt", f"{text}: holds no checkpoint; {WAYS}")


def settings_of(checkpoint: Path) -> Path:
    """Return the path of a checkpoint's ``run.json``, which may not exist."""
    records = [checkpoint.parent / RUN]
    for folder in checkpoint.parents:  # a file name with {val/loss} makes a subfolder
        if folder.name == BEST:
            records.append(folder.with_name(RUN))
    return next(filter(Path.is_file, records), records[0])


def tested(folder: Path) -> Path:
    """Return the checkpoint that a run was tested with; for an unfinished run, the last one."""
    result = read_result(folder, anywhere=True) or {}
    return folder / result.get("weights", {"file": LAST})["file"]


def writable(run_dir: Path) -> None:
    """Create the folder and refuse it if it cannot be written to."""
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=run_dir) as file:
            file.write(bytes(1 << 20))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise UserError(_refused(error, run_dir)) from error


@contextmanager
def owned(run_dir: Path, name: str) -> Iterator[None]:
    """Make and lock a run's folder; report disk errors in one line, and rename a damaged result."""
    writable(run_dir)
    try:
        with FileLock(run_dir / "lock", timeout=1):  # wait, because sweep --status holds the lock for an instant
            _set_damage_aside(run_dir)
            yield
    except Timeout:
        holder = f"another process is running it (it holds {run_dir / 'lock'})"
        raise UserError(f"{name}: {holder}; wait or stop it") from None
    except OSError as error:
        refuse_output()
        removed = error.errno == ENOENT and Path(error.filename or "").is_relative_to(run_dir)
        if error.errno not in REFUSALS and not removed:
            raise
        raise UserError(_refused(error, run_dir)) from error


def _refused(error: OSError, run_dir: Path) -> str:
    advice = "mend that, give another --runs, or set TMPDIR"
    return f"--runs: cannot write {error.filename or run_dir} ({error.strerror}); {advice}"


def _set_damage_aside(run_dir: Path) -> None:
    try:
        read_result(run_dir)
    except UserError as error:
        if not (run_dir / RUN).exists():  # the result is in a pack
            raise
        (run_dir / RUN).replace(run_dir / "run.damaged.json")
        print(f"{error}; renamed to run.damaged.json, measured again", flush=True)
