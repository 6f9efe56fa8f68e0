"""Cells of the matrix: inject faults into a run, complete it by the same command, and check its result."""

import re
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.faults.faults import DAMAGES, FAULTS, TESTED, NotInjected, damage
from benchmarks.faults.runs import END, PHASES, ROOT, Attempt, Sandbox, Setting, mount, new_sandbox
from lit_video.datamodules.temporal_skills import DIGESTS
from lit_video.errors import UserError
from lit_video.launching.states import lock_held
from lit_video.runs.folder import CURVES, RUN, has_result, read_curves, read_record
from lit_video.runs.predictions import read_predictions
from lit_video.runs.record import RunResult
from lit_video.utils.processes import DONE, FAILED, MISTAKE, TERMINATED

TRIES = 3
WENT_ON = "going on from|finished, skipped|training starts over|damaged[;:] delete it"
GRACE = 30.0  # seconds of its own time after which no process of a killed run may be alive
SPLITS = {"training": "train", "validation": "val", "test": "test"}
BROKEN = {policy: (f"--data.broken={policy}", "--data.broken_percent=50") for policy in ("skip", "report")}
POISON = ("--trainer.callbacks+=benchmarks.faults.marks.Poison", "--nan=skip:4")
# Faults of inputs and numbers: flags, exit status, the result's counter of them, and phases.
INPUTS: dict[str, tuple[tuple[str, ...], int, str, tuple[str, ...]]] = {
    "broken video, fail": ((), MISTAKE, "", TESTED),
    "broken video, skip": (BROKEN["skip"], DONE, "test_broken", TESTED),
    "broken video, report": (BROKEN["report"], DONE, "test_broken", TESTED),
    "NaN: learning rate 1e6": (("--model.optimization.lr=1e6",), FAILED, "", TESTED[:1]),
    "NaN in two steps, --nan skip:4": (POISON, DONE, "skipped_steps", TESTED[:1]),
}
Outcome = dict[str, Any]  # metrics, steps, tested videos, chosen checkpoint, curve, logits and weights of a result


@dataclass(frozen=True)
class Injection:
    """A fault in a phase, ``delay`` seconds after the phase's first event."""

    fault: str
    phase: str
    delay: float = 0.0


@dataclass(frozen=True)
class Cell:
    """A run and its faults, one per start of the run."""

    setting: Setting
    injections: tuple[Injection, ...]


@dataclass
class Record:
    """Record of a cell: ``lost`` and ``wrong`` results, ``problems`` and ``tries`` of the recovering command.

    ``seconds`` are by the clock, ``cpu`` those of all its processes.
    """

    setting: dict[str, Any]
    injections: list[dict[str, Any]] = field(default_factory=list)
    recovered: bool = False
    tries: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0

    def add(self, injection: Injection, hit: bool, **end: Any) -> None:
        """Add an injection and the end of its run."""
        self.injections.append(asdict(injection) | {"hit": hit, "status": None, "line": "", "problems": []} | end)

    def judge(self, attempt: Attempt, status: int | None, right: Outcome) -> bool:
        """Return whether the run left the right result; record a lost or wrong one."""
        try:
            if (ours := read_outcome(attempt.run_dir)) is None:
                self.lost += ["exit status 0 without a result"] if status == 0 else []
                return False
        except Exception as error:  # a damaged file may raise anything
            self.lost.append(f"result or weights cannot be read: {type(error).__name__}: {error}"[:300])
            return False
        if any(each["fault"].startswith(CURVES) and each["phase"] == "finished" for each in self.injections):
            right = right | {"curve": ours["curve"]}  # lost: the report says that the results are in other files
        found = differences(ours, right)
        self.wrong += found
        return not found


def read_outcome(run_dir: Path) -> Outcome | None:
    """Return the outcome of a run, or ``None`` without a result; a damaged file may raise anything."""
    if not has_result(run_dir):
        return None
    result = _result(run_dir)
    weights = torch.load(run_dir / result.weights.file, map_location="cpu", weights_only=True)["state_dict"]
    with np.load(run_dir / "predictions.npz") as stored:
        logits = stored["logits"].tolist()
    return {
        "metrics": result.metrics,
        "steps": result.steps,
        "videos": result.test_videos,
        "chosen": result.weights.file,
        "curve": (run_dir / CURVES).read_text() if (run_dir / CURVES).exists() else "",
        "logits": logits,
        "weights": weights,
    }


def _result(run_dir: Path) -> RunResult:
    """Return the result in a run's record, which has one."""
    result = read_record(run_dir).result
    assert result is not None
    return result


def differences(ours: Outcome, right: Outcome) -> list[str]:
    """Return how an outcome differs from the right one, compared bit by bit."""
    names = [name for name in right if name != "weights" and ours[name] != right[name]]
    found, weights = [f"{name} {ours[name]}, not {right[name]}"[:300] for name in names], right["weights"]
    if ours["weights"].keys() != weights.keys():
        return [*found, "other names of weights"]
    other = [name for name, tensor in ours["weights"].items() if not torch.equal(tensor, weights[name])]
    return [*found, f"{len(other)} weights differ, {other[0]} first"] if other else found


def problems_of(attempt: Attempt, status: int | None, before: bool = False) -> list[str]:
    """Return problems of a run's end and its leftovers; ``before``: it started with a checkpoint."""
    if status is None:
        return [f"did not end within {END:.0f} s of its own time"]
    for _ in attempt.time.moments(GRACE, every=0.1):
        if not (alive := attempt.alive()):
            break
    found = [f"process {_command(attempt, pid)} lives on" for pid in alive]
    shared = [path.name for path in Path("/dev/shm").iterdir()]
    found += [f"/dev/shm/{name} left" for name in shared if set(re.findall(r"\d+", name)) & set(map(str, attempt.pids))]
    found += ["lock held"] if not alive and lock_held(attempt.run_dir) else []
    found += [f"{path} left" for path in attempt.sandbox.strays()] + wrong_words(status, *attempt.words)
    went_on = re.search(WENT_ON, "".join(attempt.words))
    return found + (["started over, though there was a checkpoint"] if before and status == 0 and not went_on else [])


def _command(attempt: Attempt, pid: int) -> str:
    with suppress(OSError):
        return anywhere(attempt, Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())[:60]
    return str(pid)


def anywhere(attempt: Attempt, text: str) -> str:
    """Return a text without the folders of this machine."""
    for folder in (attempt.sandbox.folder, ROOT, sys.base_prefix):
        text = text.replace(f"{folder}/", "")
    return text


def wrong_words(status: int, out: str, err: str) -> list[str]:
    """Return problems of a run's last words."""
    if status == -signal.SIGKILL:
        return []  # the process could print nothing; a loader's worker may have failed while sending to it
    # Python prints "Exception ignored in" for libraries that fail at the exit of a process without memory
    traceback = (out + err).count("Traceback (most recent call last)") > err.count("Exception ignored in")
    found = ["traceback"] if traceback else []
    errors = re.findall(r"^error: .*", err, re.M)
    causes = [line for line in errors if "another process of th" not in line]  # one rank reports the other's failure
    errors = causes or errors[:1]
    if status in (FAILED, MISTAKE) and len(errors) != 1:
        found.append(f"exit status {status} with {len(errors)} lines of error")
    if status in (75, 130, 143) and "interrupted" not in err and "stopped by" not in out + err:
        found.append(f"exit status {status} without a line")
    return found


def last_lines(attempt: Attempt, number: int = 90) -> str:
    """Return the last lines of stderr (if empty: of stdout), cut and without this machine's folders."""
    out, err = attempt.words
    text = anywhere(attempt, err.strip() or out.strip())
    return "\n".join(line[:300] for line in text.splitlines()[-number:])


class References:
    """Outcomes of undisturbed runs; ``data`` is the folder that every run gets a copy of."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self._outcomes: dict[Setting, Outcome] = {}
        self._lock = threading.Lock()

    def outcome(self, setting: Setting) -> Outcome:
        """Return the setting's outcome, from a run at the first call."""
        with self._lock:
            if setting not in self._outcomes:
                with new_sandbox(self.data) as sandbox:
                    self._outcomes[setting] = read_outcome(_run(setting, sandbox, DONE).run_dir)
                    shutil.copytree(sandbox.data, self.data, dirs_exist_ok=True)
            return self._outcomes[setting]


def _run(setting: Setting, sandbox: Sandbox, right: int) -> Attempt:
    """Run to exit status ``right``; for ``TERMINATED``, send SIGTERM once there is a checkpoint."""
    with Attempt(setting, sandbox, slow=right == TERMINATED) as attempt:
        if right == TERMINATED:
            attempt.wait_for(lambda run: _has_checkpoint(run.run_dir))
            attempt.process.send_signal(signal.SIGTERM)
        if (status := attempt.wait()) != right:
            raise RuntimeError(f"{setting} ends with {status}, not {right}, without a fault:\n{last_lines(attempt)}")
    return attempt


def run_cell(cell: Cell, references: References) -> Record:
    """Inject the faults of a cell, then run the command without them, and compare."""
    start, record, setting = time.monotonic(), Record(asdict(cell.setting)), cell.setting
    right = references.outcome(setting)
    fresh = any(injection.phase == "preparing data" for injection in cell.injections)
    with new_sandbox(Path("/none") if fresh else references.data) as sandbox:
        disks = {FAULTS[each.fault].disk for each in cell.injections if each.fault in FAULTS} - {None}
        for name, megabytes in disks:
            mount("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", sandbox.folder / name)
            sandbox.mounts.append(sandbox.folder / name)
        for injection in cell.injections:
            if injection.fault in DAMAGES:
                _run(setting, sandbox, TERMINATED if injection.phase == "stopped" else DONE)
                record.add(injection, damage(injection.fault, setting.folder(sandbox.runs)))
            elif injection.fault in INPUTS:
                _input(setting, sandbox, injection, record)
            else:
                _inject(setting, sandbox, injection, record, right)
        _recover(setting, sandbox, record, right)
        record.wrong += ["code of a checkpoint was run"] if (sandbox.folder / "sprung").exists() else []
    record.seconds = round(time.monotonic() - start, 1)
    record.cpu = round(sandbox.cpu, 1)
    return record


def _has_checkpoint(run_dir: Path) -> bool:
    return (run_dir / "last.ckpt").exists()


def _inject(setting: Setting, sandbox: Sandbox, injection: Injection, record: Record, right: Outcome) -> None:
    fault, problems = FAULTS[injection.fault], []
    before = _has_checkpoint(setting.folder(sandbox.runs))
    with Attempt(setting, sandbox, slow=True) as attempt:
        hit = attempt.wait_for(PHASES[injection.phase])
        time.sleep(injection.delay if hit else 0)
        try:
            if hit := hit and attempt.process.poll() is None:
                problems = fault.inject(attempt) or []
        except NotInjected:
            hit = False
        status = attempt.wait()
        problems += problems_of(attempt, status, before)
        if status and not (hit and status in fault.statuses):
            problems.append(f"exit status {status}, not {' or '.join(map(str, sorted({0, *fault.statuses})))}")
        end = {"status": status, "line": last_lines(attempt, 1), "problems": problems}
        end |= {"stderr": last_lines(attempt)} if problems else {}
    sandbox.heal()
    record.judge(attempt, status, right)
    record.add(injection, hit, **end)


def _recover(setting: Setting, sandbox: Sandbox, record: Record, right: Outcome) -> None:
    """Run the command until there is a result, deleting any file that it asks to delete."""
    sandbox.clock.unlink(missing_ok=True)
    _obey_table(setting.folder(sandbox.runs))
    while not record.recovered and record.tries < TRIES:
        before = _has_checkpoint(setting.folder(sandbox.runs))
        record.tries += 1
        with Attempt(setting, sandbox) as attempt:
            status = attempt.wait()
            problems = problems_of(attempt, status, before)
            if match := re.search(r"^error: (?:.*: )?(\S+?):?(?: is)? damaged[:;] delete it", attempt.words[1], re.M):
                Path(match[1]).unlink()
            elif status != 0:
                problems.append(f"exit status {status}: {last_lines(attempt, 1)}")
            record.problems += [*problems, f"stderr: {last_lines(attempt)}"] if problems else []
        record.recovered = record.judge(attempt, status, right) and status == 0


def _obey_table(run_dir: Path) -> None:
    """Do what ``table`` and ``report`` say of a finished run's damaged files, which ``fit`` does not read.

    For predictions delete the record, so that the run is tested again; for a curve delete it.
    """
    try:
        read_predictions(run_dir)
    except UserError:
        (run_dir / RUN).unlink(missing_ok=True)
    try:
        read_curves(run_dir)
    except UserError:
        if has_result(run_dir):
            (run_dir / CURVES).unlink(missing_ok=True)


def _replace(video: Path, content: bytes) -> None:
    """Give a drawn video another content, and its list the digest, so that it is not drawn again."""
    video.write_bytes(content)
    root = video.parents[2]
    with (root / DIGESTS).open("a") as file:
        file.write(f"{sha256(content).hexdigest()}  {video.relative_to(root).as_posix()}\n")


def _input(setting: Setting, sandbox: Sandbox, injection: Injection, record: Record) -> None:
    """Run with a broken video or non-finite numbers; a run that goes on must report them in its result."""
    flags, right, key, _ = INPUTS[injection.fault]
    split, folder = SPLITS[injection.phase], setting.folder(sandbox.runs)
    video = min(sandbox.data.rglob(f"{split}/*/*.mp4"))
    whole = video.read_bytes()
    if "video" in injection.fault:
        _replace(video, whole[: len(whole) // 2])
    with Attempt(replace(setting, flags=flags), sandbox) as attempt:
        status = attempt.wait()
        problems = problems_of(attempt, status) + ([] if status == right else [f"exit status {status}, not {right}"])
        record.add(injection, True, status=status, line=last_lines(attempt, 1), problems=problems)
    if right != DONE:
        _replace(video, whole)
        record.wrong += ["a result"] if has_result(folder) else []
        # repeating the command would fail again
        record.recovered = right == FAILED and not problems
        return
    said = getattr(_result(folder), key)
    if said != (2 if key == "skipped_steps" else split == "test"):
        record.wrong.append(f"the result's {key} is {said}")
    if key == "test_broken" and f"{split}," not in (folder / "broken.csv").read_text():
        record.wrong.append(f"broken.csv names no video of {split}")
    record.recovered = not problems and not record.wrong
