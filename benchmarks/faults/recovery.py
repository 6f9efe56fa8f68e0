"""The same command again, without a fault, until it is done."""

import re
import sys
from pathlib import Path

from benchmarks.faults.attempt import Attempt, Setting
from benchmarks.faults.checks import Outcome, leftovers, wrong_words
from benchmarks.faults.place import ROOT, Place
from benchmarks.faults.records import Record

TRIES = 3


def recover(setting: Setting, place: Place, record: Record, right: Outcome) -> None:
    """Run the command until there is a result; a file that it asks to delete is deleted."""
    run_dir = setting.folder(place.runs)
    place.clock.unlink(missing_ok=True)
    while not record.recovered and record.tries < TRIES:
        before = has_checkpoint(run_dir)
        record.tries += 1
        with Attempt(setting, place) as attempt:
            status = attempt.wait()
            problems = leftovers(attempt) + wrong_words(status, attempt.out, attempt.err)
            if match := re.search(r"^error: (?:.*: )?(\S+): damaged; delete it", attempt.err, re.M):
                Path(match[1]).unlink()
            elif status != 0:
                problems.append(f"exit status {status}: {last_line(attempt)}")
            if before and not went_on(attempt):
                problems.append("started over, though there was a checkpoint")
        record.problems += problems + ([f"stderr: {stderr_of(attempt)}"] if problems and attempt.err else [])
        record.recovered = record.judge(attempt, status, right) and status == 0


def has_checkpoint(run_dir: Path) -> bool:
    """Whether there is a checkpoint that a run can go on from."""
    return any((run_dir / name).exists() for name in ("last.ckpt", "previous.ckpt"))


def went_on(attempt: Attempt) -> bool:
    """Whether a run went on from what was there, or said why not."""
    said = ("going on from", "finished, skipped", "training starts over", "damaged; delete it")
    return any(words in attempt.out + attempt.err for words in said)


def stderr_of(attempt: Attempt) -> str:
    """The end of what it wrote to stderr, long lines cut."""
    return "\n".join(line[:300] for line in without_places(attempt.err, attempt.place).splitlines()[-90:])


def last_line(attempt: Attempt) -> str:
    """What it said last."""
    lines = (attempt.err.strip() or attempt.out.strip()).splitlines()
    return without_places(lines[-1], attempt.place)[:300] if lines else ""


def without_places(text: str, place: Place) -> str:
    """A text without the folders of this machine: what the harness made, the repository, Python."""
    for folder in (place.folder, ROOT, sys.base_prefix):
        text = text.replace(f"{folder}/", "")
    return text
