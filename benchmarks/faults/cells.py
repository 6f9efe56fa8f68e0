"""Cells of the matrix: a run, faults in it, the same command again until it is done; all of them, and random ones."""

import json
import random
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.faults.checks import (
    Outcome,
    differences,
    has_checkpoint,
    last_lines,
    problems_of,
    read_outcome,
)
from benchmarks.faults.faults import DAMAGES, FAULTS, TESTED, NotInjected, damage
from benchmarks.faults.runs import PHASES, Attempt, Place, Setting, new_place
from lit_video.utils.exit_status import DONE, FAILED, MISTAKE, TERMINATED

TRIES = 3
SPLITS = {"training": "train", "validation": "val", "test": "test"}
BROKEN = {policy: (f"--data.broken={policy}", "--data.broken_percent=50") for policy in ("skip", "report")}
POISON = ("--trainer.callbacks+=benchmarks.faults.marks.Poison", "--nan=skip:4")
# faults of what a run reads and computes: flags, exit status, where the result counts them, and phases
INPUTS: dict[str, tuple[tuple[str, ...], int, str, tuple[str, ...]]] = {
    "broken video, fail": ((), MISTAKE, "", TESTED),
    "broken video, skip": (BROKEN["skip"], DONE, "test_broken", TESTED),
    "broken video, report": (BROKEN["report"], DONE, "test_broken", TESTED),
    "NaN: learning rate 1e6": (("--model.optimization.lr=1e6",), FAILED, "", ("training",)),
    "NaN in two steps, --nan skip:4": (POISON, DONE, "skipped_steps", ("training",)),
}
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGUSR1")
WITH_WANDB: dict[str, tuple[str, ...]] = {
    "wandb-core killed": TESTED,
    "W&B folder garbage": DAMAGES["W&B folder garbage"],
    **dict.fromkeys(SIGNALS, ("training", "writing")),
}
TWO_RANKS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SIGNALS, ("starting", "training", "checkpoint write", "validation", "test", "writing")),
    "rank 1 killed": ("training", "checkpoint write", "validation", "test", "writing"),
    **dict.fromkeys(("worker killed", "run disk full"), ("training", "test")),
    **dict.fromkeys(("run disk read-only", "file size limited", "memory limited", "TMPDIR full"), ("training",)),
    **dict.fromkeys(("clock a day ahead", "second process"), ("training",)),
    **dict.fromkeys(("last.ckpt truncated", "both checkpoints empty"), ("stopped",)),
}


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
            ours = read_outcome(attempt.run_dir)
        except Exception as error:  # whatever a damaged file raises
            self.lost.append(f"result or weights cannot be read: {type(error).__name__}: {error}"[:300])
            return False
        if ours is None:
            self.lost += ["exit status 0 without result.json"] if status == 0 else []
            return False
        found = differences(ours, right)
        self.wrong += found
        return not found


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
                with new_place(self.data if self.data.exists() else None) as place:
                    attempt = run(setting, place, DONE)
                    self._outcomes[setting] = read_outcome(attempt.run_dir)
                    if not self.data.exists():
                        shutil.copytree(place.data, self.data)
            return self._outcomes[setting]


def run(setting: Setting, place: Place, right: int) -> Attempt:
    """A run that ended as it should, stopped once it has two checkpoints if it should end with ``TERMINATED``."""
    with Attempt(setting, place, slow=right == TERMINATED) as attempt:
        if right == TERMINATED:
            attempt.wait_for(lambda run: (run.run_dir / "previous.ckpt").exists())
            attempt.process.send_signal(signal.SIGTERM)
        if (status := attempt.wait()) != right:
            raise RuntimeError(f"{setting} ends with {status}, not {right}, without a fault:\n{last_lines(attempt)}")
    return attempt


def run_cell(cell: Cell, references: References) -> Record:
    """Inject the faults of a cell, then run the command without them, and compare."""
    start, record, setting = time.monotonic(), Record(asdict(cell.setting)), cell.setting
    right = references.outcome(setting)
    fresh = any(injection.phase == "preparing data" for injection in cell.injections)
    with new_place(None if fresh else references.data) as place:
        for name in FAULTS.keys() & {injection.fault for injection in cell.injections}:
            FAULTS[name].prepare(place)
        for injection in cell.injections:
            if injection.fault in DAMAGES:
                run(setting, place, TERMINATED if injection.phase == "stopped" else DONE)
                record.add(injection, damage(injection.fault, setting.folder(place.runs)))
            elif injection.fault in INPUTS:
                _input(setting, place, injection, record)
            else:
                _inject(setting, place, injection, record, right)
        _recover(setting, place, record, right)
        if (place.folder / "sprung").exists():
            record.wrong.append("code of a checkpoint was run")
    record.seconds = round(time.monotonic() - start, 1)
    return record


def _inject(setting: Setting, place: Place, injection: Injection, record: Record, right: Outcome) -> None:
    fault, problems = FAULTS[injection.fault], []
    before = has_checkpoint(setting.folder(place.runs))
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
        before = has_checkpoint(setting.folder(place.runs))
        record.tries += 1
        with Attempt(setting, place) as attempt:
            status = attempt.wait()
            problems = problems_of(attempt, status, before)
            if match := re.search(r"^error: (?:.*: )?(\S+?):?(?: is)? damaged[:;] delete it", attempt.err, re.M):
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
        record.wrong += ["a result"] if (folder / "result.json").exists() else []
        # the same command again would fail again
        record.recovered = right == FAILED and not problems and (folder / "nonfinite.pt").exists()
        return
    said = json.loads((folder / "result.json").read_text())[key]
    if said != (2 if key == "skipped_steps" else split == "test"):
        record.wrong.append(f"the result's {key} is {said}")
    if key == "test_broken" and f"{split}," not in (folder / "broken.csv").read_text():
        record.wrong.append(f"broken.csv names no video of {split}")
    record.recovered = not problems and not record.wrong


def cells() -> list[Cell]:
    """Every cell of the matrix once."""
    one_rank = {name: fault.phases for name, fault in FAULTS.items()} | {name: row[-1] for name, row in INPUTS.items()}
    one_rank |= {name: stages for name, stages in DAMAGES.items() if name not in WITH_WANDB}
    parts = ((one_rank, Setting()), (WITH_WANDB, Setting(wandb=True)), (TWO_RANKS, Setting(ranks=2)))
    every = [(setting, fault, phase) for faults, setting in parts for fault in faults for phase in faults[fault]]
    return [Cell(setting, (Injection(fault, phase),)) for setting, fault, phase in every]


def random_cells(rng: random.Random) -> Iterator[Cell]:
    """Three rows, two seeds each; up to three faults hit a run, each after up to a second and a half of a phase."""
    while True:
        ranks = rng.choice((1, 1, 1, 2))
        setting = Setting(rng.choice(("tw0", "tw1", "tw2")), rng.choice((0, 1)), ranks, wandb=rng.random() < 0.2)
        left_out = {"rank 1 killed": ranks == 1, "wandb-core killed": not setting.wandb}
        kinds = rng.choices([name for name in FAULTS if not left_out.get(name)], k=rng.choice((1, 1, 2, 3)))
        injections = [Injection(kind, rng.choice(list(PHASES)), round(rng.uniform(0, 1.5), 2)) for kind in kinds]
        yield Cell(setting, tuple(injections))
