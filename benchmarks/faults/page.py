"""Write ``docs/faults.md``, the matrix and the summary, from the JSON lines of soaks."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.faults.cells import INPUTS
from benchmarks.faults.faults import DAMAGES, FAULTS
from benchmarks.faults.runs import PHASES
from lit_video.errors import UserError
from lit_video.utils.text import markdown_lines

Line = dict[str, Any]
ROWS = [*FAULTS, *INPUTS, *DAMAGES]
STAGES = {"stopped": "a stopped run's files", "finished": "a finished run's files"}
HEAD = """\
# Faults

For anyone who asks what a killed process, a full disk or a damaged file does to a run.

Each fault hits a real run (one process, or two DDP ranks) in each phase that it can hit. The same command then runs
again without the fault until it is done. Metrics, steps and final weights must equal an undisturbed run's exactly.

    make soak HOURS=1

writes a line per run in `benchmarks/results/soak/` and this page. Faults of disks need root. A cell lists the exit
statuses of the runs that passed (negative: the signal that ended the process). A number in brackets refers to a failure
listed below; · means not injected. Signals in and after a validation also come 0.1 to 2 seconds later.
"""


def read_lines(path: Path) -> list[Line]:
    """Return the lines of a soak without a last one that was cut off."""
    lines = []
    for text in path.read_text().splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            break
    return lines


def summary(lines: Iterable[Line]) -> dict[str, int]:
    """Return the numbers of a soak's runs and findings."""
    cells = [line for line in lines if "injections" in line]
    runs = [cell for cell in cells if not _not_made(cell)]
    return {
        "runs": len(runs),
        "faults injected": sum(injection["hit"] for run in runs for injection in run["injections"]),
        "faults that came after the run's end": sum(not each["hit"] for run in runs for each in run["injections"]),
        "runs recovered": sum(run["recovered"] for run in runs),
        "runs not recovered": sum(not run["recovered"] for run in runs),
        "results lost": sum(bool(run["lost"]) for run in runs),
        "results wrong": sum(bool(run["wrong"]) for run in runs),
        "ends or words not as they should be": sum(bool(found(run)) for run in runs),
        "faults that the harness could not make": len(cells) - len(runs),
    }


def _not_made(cell: Line) -> bool:
    """Return whether the harness itself failed, so that the cell has no outcome."""
    return any(problem.startswith("harness: ") for problem in cell["problems"])


def found(run: Line) -> list[str]:
    """Return all problems of a run."""
    said = [f"{each['fault']}: {problem}" for each in run["injections"] for problem in each["problems"]]
    said += [f"again: {problem}" for problem in run["problems"]]
    said += [f"LOST: {text}" for text in run["lost"]] + [f"WRONG: {text}" for text in run["wrong"]]
    return said + ([] if run["recovered"] or _not_made(run) else ["NOT RECOVERED"])


def page(soaks: Sequence[Sequence[Line]]) -> str:
    """Return the page's text from the lines of soaks of one program; raise a UserError for soaks of several commits."""
    commits = sorted({soak[0]["commit"] for soak in soaks})
    if len(commits) > 1:
        raise UserError(f"soaks of several programs make no page: they ran at commits {', '.join(commits)}")
    lines = [line for soak in soaks for line in soak]
    notes: list[str] = []
    parts = [HEAD, f"Measured at commit {commits[0]}, not on later code.\n"]
    for ranks, title in ((1, "One process"), (2, "Two ranks")):
        runs = [run for run in lines if "injections" in run and run["setting"]["ranks"] == ranks]
        parts += [f"## {title}\n", _matrix(runs, list(PHASES), notes)]
        parts += [f"Files damaged between two starts:\n\n{_matrix(runs, list(STAGES), notes)}"]
    if notes:
        parts += ["## Not as it should be\n", *(f"{i}. {note}" for i, note in enumerate(notes, 1)), ""]
    numbers = "\n".join(f"{number:5d}  {name}" for name, number in summary(lines).items())
    return "\n".join([*parts, f"## All soaks\n\n```\n{numbers}\n```\n", *map(_soak, soaks)])


def _soak(lines: Sequence[Line]) -> str:
    """Return a soak's command, machine and findings."""
    head = lines[0]
    seconds, cpu = (sum(run.get(key, 0) for run in lines) for key in ("seconds", "cpu"))
    core_hours = f" ({cpu / 3600:.1f} core hours)" if cpu else ""
    made, found_here = (
        ", ".join(f"{key} {value}" for key, value in each.items()) for each in (head["versions"], summary(lines))
    )
    return (
        f"- `{head['command']}`, begun {head['begun']}, {seconds / 3600:.1f} hours of runs{core_hours}, "
        f"commit {head['commit']}, {head['device']}, {made}: {found_here}."
    )


def _matrix(runs: Sequence[Line], phases: list[str], notes: list[str]) -> str:
    """Return a table of faults and phases; append problems to ``notes``."""
    cells: dict[tuple[str, str], list[str]] = defaultdict(list)
    for run in runs:
        hits = [each for each in run["injections"] if each["hit"] and each["phase"] in phases]
        problems = [problem.partition("\n")[0][:200] for problem in found(run)] if hits else []
        problems = [*dict.fromkeys(problem for problem in problems if "stderr: " not in problem)]
        if problems:
            where = " then ".join(f"{each['fault']} in {each['phase']}" for each in run["injections"])
            notes.append(f"{where} ({run['setting']['ranks']} ranks): {'; '.join(problems)}")
        for each in hits:
            status = "ok" if each["status"] is None else str(each["status"])
            cells[each["fault"], each["phase"]].append(f"[{len(notes)}]" if problems else status)
    faults = sorted({fault for fault, _ in cells}, key=ROWS.index)
    body = [[fault, *(_text(cells[fault, phase]) for phase in phases)] for fault in faults]
    header = ["fault", *(STAGES.get(phase, phase) for phase in phases)]
    return markdown_lines(header, body, numbers=False) + "\n" if body else "Not injected.\n"


def _text(seen: list[str]) -> str:
    counts = Counter(seen)
    return ", ".join(text if count == 1 else f"{text} ×{count}" for text, count in sorted(counts.items())) or "·"
