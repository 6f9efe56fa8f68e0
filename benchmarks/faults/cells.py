"""Cells of the matrix: a run, faults in it, the same command again until it is done, and what is looked at then."""

import json
import re
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.faults.faults import DAMAGES, FAULTS, TESTED, NotInjected, damage
from benchmarks.faults.runs import END, PHASES, ROOT, Attempt, Place, Setting, mount, new_place
from lit_video.launching.states import lock_held
from lit_video.runs.files import RUN, has_result
from lit_video.utils.stop_signals import DONE, FAILED, MISTAKE, TERMINATED

TRIES = 3
WENT_ON = "going on from|finished, skipped|training starts over|damaged[;:] delete it"
GRACE = 6.0  # seconds in which processes of a killed run must have noticed
SPLITS = {"training": "train", "validation": "val", "test": "test"}
BROKEN = {policy: (f"--data.broken={policy}", "--data.broken_percent=50") for policy in ("skip", "report")}
POISON = ("--trainer.callbacks+=benchmarks.faults.marks.Poison", "--nan=skip:4")
# faults of what a run reads and computes: flags, exit status, where the result counts them, and phases
INPUTS: dict[str, tuple[tuple[str, ...], int, str, tuple[str, ...]]] = {
    "broken video, fail": ((), MISTAKE, "", TESTED),
    "broken video, skip": (BROKEN["skip"], DONE, "test_broken", TESTED),
    "broken video, report": (BROKEN["report"], DONE, "test_broken", TESTED),
    "NaN: learning rate 1e6": (("--model.optimization.lr=1e6",), FAILED, "", TESTED[:1]),
    "NaN in two steps, --nan skip:4": (POISON, DONE, "skipped_steps", TESTED[:1]),
}
Outcome = dict[str, Any]  # metrics, steps and tested videos of the result, and the weights that it names


@dataclass(frozen=True)
class Injection:
    """A fault in a phase, some seconds after its first event."""

    fault: str
    phase: str
    delay: float = 0.0


@dataclass(frozen=True)
class Cell:
    """A run, and faults that hit it, one in each start of it."""

    setting: Setting
    injections: tuple[Injection, ...]


@dataclass
class Record:
    """What happened in a cell: ``lost`` and ``wrong`` results, ``problems`` and ``tries`` of the command afterwards."""

    setting: dict[str, Any]
    injections: list[dict[str, Any]] = field(default_factory=list)
    recovered: bool = False
    tries: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, injection: Injection, hit: bool, **end: Any) -> None:
        """Add an injection, with how the run ended."""
        self.injections.append(asdict(injection) | {"hit": hit, "status": None, "line": "", "problems": []} | end)

    def judge(self, attempt: Attempt, status: int | None, right: Outcome) -> bool:
        """Whether a run that ended left a result, and the right one; else what is lost or wrong is kept."""
        try:
            if (ours := read_outcome(attempt.run_dir)) is None:
                self.lost += ["exit status 0 without a result"] if status == 0 else []
                return False
        except Exception as error:  # whatever a damaged file raises
            self.lost.append(f"result or weights cannot be read: {type(error).__name__}: {error}"[:300])
            return False
        found = differences(ours, right)
        self.wrong += found
        return not found


def read_outcome(run_dir: Path) -> Outcome | None:
    """The outcome of a run; ``None`` without a result; whatever a damaged file raises."""
    if not has_result(run_dir):
        return None
    result = json.loads((run_dir / RUN).read_text())["result"]
    weights = torch.load(run_dir / result["weights"]["file"], map_location="cpu", weights_only=True)["state_dict"]
    return {"metrics": result["metrics"], "steps": result["steps"], "videos": result["test_videos"], "weights": weights}


def differences(ours: Outcome, right: Outcome) -> list[str]:
    """How an outcome differs from the right one, bit by bit."""
    names = [name for name in ("metrics", "steps", "videos") if ours[name] != right[name]]
    found, weights = [f"{name} {ours[name]}, not {right[name]}" for name in names], right["weights"]
    if ours["weights"].keys() != weights.keys():
        return [*found, "other names of weights"]
    other = [name for name, tensor in ours["weights"].items() if not torch.equal(tensor, weights[name])]
    return [*found, f"{len(other)} weights differ, {other[0]} first"] if other else found


def problems_of(attempt: Attempt, status: int | None, before: bool = False) -> list[str]:
    """What is wrong with the end of a run, and what it left; ``before`` it there was a checkpoint to go on from."""
    if status is None:
        return [f"did not end within {END:.0f} s"]
    start = time.monotonic()
    while (alive := attempt.alive()) and time.monotonic() - start < GRACE:
        time.sleep(0.1)
    found = [f"process {_name(pid)} lives on" for pid in alive]
    shared = [path.name for path in Path("/dev/shm").iterdir()]
    found += [f"/dev/shm/{name} left" for name in shared if set(re.findall(r"\d+", name)) & set(map(str, attempt.pids))]
    found += ["lock held"] if not alive and lock_held(attempt.run_dir) else []
    found += [f"{path} left" for path in attempt.place.strays()] + wrong_words(status, *attempt.words)
    went_on = re.search(WENT_ON, "".join(attempt.words))
    return found + (["started over, though there was a checkpoint"] if before and status == 0 and not went_on else [])


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:60]
    return str(pid)


def wrong_words(status: int, out: str, err: str) -> list[str]:
    """What is wrong with what a run said at its end."""
    if status == -signal.SIGKILL:
        return []  # of a process that could say nothing; a loader's worker may notice in the middle of sending to it
    # what libraries cannot do at the exit of a process without memory is ignored, and printed
    traceback = (out + err).count("Traceback (most recent call last)") > err.count("Exception ignored in")
    found = ["traceback"] if traceback else []
    errors = re.findall(r"^error: .*", err, re.M)
    causes = [line for line in errors if "another process of th" not in line]  # a rank says that of the one that failed
    errors = causes or errors[:1]
    if status in (FAILED, MISTAKE) and len(errors) != 1:
        found.append(f"exit status {status} with {len(errors)} lines of error")
    if status in (75, 130, 143) and "interrupted" not in err and "stopped by" not in out + err:
        found.append(f"exit status {status} without a line")
    return found


def last_lines(attempt: Attempt, number: int = 90) -> str:
    """The last lines of stderr, or else of what it printed, cut, and without the folders of this machine."""
    out, err = attempt.words
    text = err.strip() or out.strip()
    for folder in (attempt.place.folder, ROOT, sys.base_prefix):
        text = text.replace(f"{folder}/", "")
    return "\n".join(line[:300] for line in text.splitlines()[-number:])


class References:
    """Results of runs that nothing happens to; ``data`` is what all runs get a copy of."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self._outcomes: dict[Setting, Outcome] = {}
        self._lock = threading.Lock()

    def outcome(self, setting: Setting) -> Outcome:
        """What the setting gives; run once, when it is first asked for."""
        with self._lock:
            if setting not in self._outcomes:
                with new_place(self.data) as place:
                    self._outcomes[setting] = read_outcome(_run(setting, place, DONE).run_dir)
                    shutil.copytree(place.data, self.data, dirs_exist_ok=True)
            return self._outcomes[setting]


def _run(setting: Setting, place: Place, right: int) -> Attempt:
    """A run that ended as it should, stopped once it has a checkpoint if it should end with ``TERMINATED``."""
    with Attempt(setting, place, slow=right == TERMINATED) as attempt:
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
    with new_place(Path("/none") if fresh else references.data) as place:
        disks = {FAULTS[each.fault].disk for each in cell.injections if each.fault in FAULTS} - {None}
        for name, megabytes in disks:
            mount("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", place.folder / name)
            place.mounts.append(place.folder / name)
        for injection in cell.injections:
            if injection.fault in DAMAGES:
                _run(setting, place, TERMINATED if injection.phase == "stopped" else DONE)
                record.add(injection, damage(injection.fault, setting.folder(place.runs)))
            elif injection.fault in INPUTS:
                _input(setting, place, injection, record)
            else:
                _inject(setting, place, injection, record, right)
        _recover(setting, place, record, right)
        record.wrong += ["code of a checkpoint was run"] if (place.folder / "sprung").exists() else []
    record.seconds = round(time.monotonic() - start, 1)
    return record


def _has_checkpoint(run_dir: Path) -> bool:
    return (run_dir / "last.ckpt").exists()


def _inject(setting: Setting, place: Place, injection: Injection, record: Record, right: Outcome) -> None:
    fault, problems = FAULTS[injection.fault], []
    before = _has_checkpoint(setting.folder(place.runs))
    with Attempt(setting, place, slow=True) as attempt:
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
    place.heal()
    record.judge(attempt, status, right)
    record.add(injection, hit, **end)


def _recover(setting: Setting, place: Place, record: Record, right: Outcome) -> None:
    """Run the command until there is a result; a file that it asks to delete is deleted."""
    place.clock.unlink(missing_ok=True)
    while not record.recovered and record.tries < TRIES:
        before = _has_checkpoint(setting.folder(place.runs))
        record.tries += 1
        with Attempt(setting, place) as attempt:
            status = attempt.wait()
            problems = problems_of(attempt, status, before)
            if match := re.search(r"^error: (?:.*: )?(\S+?):?(?: is)? damaged[:;] delete it", attempt.words[1], re.M):
                Path(match[1]).unlink()
            elif status != 0:
                problems.append(f"exit status {status}: {last_lines(attempt, 1)}")
            record.problems += [*problems, f"stderr: {last_lines(attempt)}"] if problems else []
        record.recovered = record.judge(attempt, status, right) and status == 0


def _input(setting: Setting, place: Place, injection: Injection, record: Record) -> None:
    """Run with a broken video, or numbers that are not finite; a run that goes on without them says so."""
    flags, right, key, _ = INPUTS[injection.fault]
    split, folder = SPLITS[injection.phase], setting.folder(place.runs)
    video = min(place.data.rglob(f"{split}/*/*.mp4"))
    whole = video.read_bytes()
    if "video" in injection.fault:
        video.write_bytes(whole[: len(whole) // 2])
    with Attempt(replace(setting, flags=flags), place) as attempt:
        status = attempt.wait()
        problems = problems_of(attempt, status) + ([] if status == right else [f"exit status {status}, not {right}"])
        record.add(injection, True, status=status, line=last_lines(attempt, 1), problems=problems)
    if right != DONE:
        video.write_bytes(whole)
        record.wrong += ["a result"] if has_result(folder) else []
        # the same command again would fail again
        record.recovered = right == FAILED and not problems
        return
    said = json.loads((folder / RUN).read_text())["result"][key]
    if said != (2 if key == "skipped_steps" else split == "test"):
        record.wrong.append(f"the result's {key} is {said}")
    if key == "test_broken" and f"{split}," not in (folder / "broken.csv").read_text():
        record.wrong.append(f"broken.csv names no video of {split}")
    record.recovered = not problems and not record.wrong
