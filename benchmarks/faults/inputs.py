"""Faults of what a run reads and computes: broken videos under each policy, numbers that are not finite."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.faults.attempt import Attempt, Setting
from benchmarks.faults.checks import leftovers, wrong_words
from benchmarks.faults.place import Place
from benchmarks.faults.records import Injection, Record
from benchmarks.faults.recovery import last_line
from lit_video.tables.status import read_status
from lit_video.utils.exit_status import DONE, FAILED, MISTAKE

SPLITS = {"training": "train", "validation": "val", "test": "test"}


def _run(setting: Setting, place: Place, status: int, injection: Injection, record: Record) -> list[str]:
    """Run to the end; problems if it does not end as it should."""
    with Attempt(setting, place) as attempt:
        ended = attempt.wait()
        problems = leftovers(attempt) + wrong_words(ended, attempt.out, attempt.err)
        line = last_line(attempt)
    if ended != status:
        problems.append(f"exit status {ended}, not {status}")
    if (attempt.run_dir / "result.json").exists() != (status == DONE):
        record.wrong.append(f"exit status {ended}, result.json {'there' if status else 'missing'}")
    record.add(injection, True, ended, line, problems)
    return problems


def _broken(policy: str) -> Callable[[Setting, Place, Injection, Record], None]:
    def inject(setting: Setting, place: Place, injection: Injection, record: Record) -> None:
        if policy != "fail":  # the default
            setting = replace(setting, flags=(f"--data.broken={policy}", "--data.broken_percent=50"))
        split = SPLITS[injection.phase]
        video = min(place.data.rglob(f"{split}/*/*.mp4"))
        whole = video.read_bytes()
        video.write_bytes(whole[: len(whole) // 2])
        problems = _run(setting, place, MISTAKE if policy == "fail" else DONE, injection, record)
        if policy == "fail":
            video.write_bytes(whole)
            return
        folder = setting.folder(place.runs)
        listed = (folder / "broken.csv").read_text() if (folder / "broken.csv").exists() else ""
        counted = _result(folder).get("test_broken")
        if f"{split}," not in listed or counted != (split == "test"):
            record.wrong.append(f"the result says {counted} broken test videos, broken.csv {listed!r}")
        record.recovered = not record.wrong and not problems

    return inject


def _diverge(setting: Setting, place: Place, injection: Injection, record: Record) -> None:
    """A learning rate of a million: no result, however often it is run."""
    setting = replace(setting, flags=("--model.optimization.lr=1e6",))
    problems = [*_run(setting, place, FAILED, injection, record), *_run(setting, place, FAILED, injection, record)]
    folder = setting.folder(place.runs)
    status = read_status(folder)
    if status is None or status.state != "failed" or not (folder / "nonfinite.pt").exists():
        problems.append("no status.json that says failed, or no nonfinite.pt")
        record.problems += problems[-1:]
    record.recovered = not problems


def _skip(setting: Setting, place: Place, injection: Injection, record: Record) -> None:
    """Gradients of two steps that are NaN, and allowed."""
    setting = replace(setting, flags=("--trainer.callbacks+=benchmarks.faults.marks.Poison", "--nan=skip:4"))
    problems = _run(setting, place, DONE, injection, record)
    skipped = _result(setting.folder(place.runs)).get("skipped_steps")
    if skipped != 2:
        record.wrong.append(f"the result says {skipped} steps left out, not 2")
    record.recovered = skipped == 2 and not problems


def _result(folder: Path) -> dict[str, object]:
    path = folder / "result.json"
    content: dict[str, object] = json.loads(path.read_text()) if path.exists() else {}
    return content


INPUTS: dict[str, Callable[[Setting, Place, Injection, Record], None]] = {
    "broken video, fail": _broken("fail"),
    "broken video, skip": _broken("skip"),
    "broken video, report": _broken("report"),
    "NaN: learning rate 1e6": _diverge,
    "NaN in two steps, --nan skip:4": _skip,
}
