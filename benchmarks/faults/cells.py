"""One cell of the matrix: a run, faults in it, and the same command again until it is done."""

import shutil
import time
from dataclasses import asdict, replace

from benchmarks.faults.attempt import END, Attempt, Setting
from benchmarks.faults.checks import Outcome, leftovers, wrong_words
from benchmarks.faults.damage import DAMAGES, trapped
from benchmarks.faults.faults import FAULTS, Fault
from benchmarks.faults.inputs import INPUTS
from benchmarks.faults.kills import NotInjected
from benchmarks.faults.phases import PHASES
from benchmarks.faults.place import Place, new_place
from benchmarks.faults.records import Cell, Injection, Record
from benchmarks.faults.recovery import has_checkpoint, last_line, recover, stderr_of, went_on
from benchmarks.faults.references import References


def run_cell(cell: Cell, references: References) -> Record:
    """Inject the faults of a cell, then run the command without them, and compare."""
    start, record = time.monotonic(), Record(asdict(cell.setting))
    right = references.outcome(replace(cell.setting, flags=()))  # the flags change nothing where nothing happens
    fresh = any(injection.phase == "preparing data" for injection in cell.injections)
    with new_place(None if fresh else references.data) as place:
        for name in FAULTS.keys() & {injection.fault for injection in cell.injections}:
            FAULTS[name].prepare(place)
        for injection in cell.injections:
            if injection.fault in DAMAGES:
                _damage(cell.setting, place, injection, record, references)
            elif injection.fault in INPUTS:
                INPUTS[injection.fault](cell.setting, place, injection, record)
            else:
                _inject(cell.setting, place, injection, record, right)
        recover(cell.setting, place, record, right)
        if trapped(place):
            record.wrong.append("code of a checkpoint was run")
    record.seconds = round(time.monotonic() - start, 1)
    return record


def _inject(setting: Setting, place: Place, injection: Injection, record: Record, right: Outcome) -> None:
    fault = FAULTS[injection.fault]
    before = has_checkpoint(setting.folder(place.runs))
    with Attempt(setting, place, slow=True) as attempt:
        hit = attempt.wait_for(PHASES[injection.phase])
        time.sleep(injection.delay if hit else 0)
        try:
            hit = hit and attempt.process.poll() is None
            problems = fault.inject(attempt) if hit else []
        except NotInjected:
            hit, problems = False, []
        status = attempt.wait()
        problems += _problems(fault, status, attempt, hit)
        if before and status == 0 and not went_on(attempt):
            problems.append("started over, though there was a checkpoint")
        line, said = last_line(attempt), stderr_of(attempt) if problems else ""
    fault.undo(place)
    record.judge(attempt, status, right)
    record.add(injection, hit, status, line, problems, said)


def _problems(fault: Fault, status: int | None, attempt: Attempt, hit: bool) -> list[str]:
    if status is None:
        return [f"did not end within {END:.0f} s"]
    found = leftovers(attempt)
    if status != 0 and not (hit and status in fault.statuses):
        found.append(f"exit status {status}, not {' or '.join(map(str, sorted({0} | fault.statuses)))}")
    return found + wrong_words(status, attempt.out, attempt.err)


def _damage(setting: Setting, place: Place, injection: Injection, record: Record, references: References) -> None:
    """Damage a file of a run that has stopped in training, or is finished."""
    if not setting.folder(place.runs).exists():
        source = references.stage(setting, injection.phase)
        shutil.copytree(source, place.runs, symlinks=True, dirs_exist_ok=True)
    record.add(injection, hit=DAMAGES[injection.fault](setting.folder(place.runs)))
