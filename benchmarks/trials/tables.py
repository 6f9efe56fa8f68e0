"""Print what the trials of the recipe have shown so far, by the rules of docs/trials.md.

    python -m benchmarks.trials.tables

Each number is of one trained model, on *fresh* films of drawing 1: directions right in percent, a mean over the skills
outside of the lesson. Trials choose settings; they are no results.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.evidence import Planned, packed, read_plan
from benchmarks.harness import Table, ran
from lit_video.datamodules.temporal_skills import SKILLS
from lit_video.runs.curves import read_curves
from lit_video.runs.finished import FinishedRun

PLAN = Path(__file__).with_name("plan.yaml")
LESSON = ("drift", "order1")  # skills of the first lesson
COMMON = ("trials", "trials_2000")  # files of every cell of the crossing


def score(run: FinishedRun) -> float:
    """Return the directions right of fresh films, in percent: the mean over the skills that no lesson shows."""
    return fmean(run.result.metrics[f"fresh/direction/{name}"] for name in SKILLS if name not in LESSON)


def scales(run: Planned) -> list[str]:
    """Return the names of a run's files of scales."""
    return [Path(name).stem for name in run.configs]


def crossing(runs: Sequence[tuple[Planned, FinishedRun]]) -> Iterator[Table]:
    """Yield the scores of the crossing: a line for each cell, a column for each row."""
    cells: dict[str, dict[str, str]] = {}
    for run, finished in runs:
        changes = [name.removeprefix("trials_") for name in scales(run) if name not in COMMON]
        cell = cells.setdefault(", ".join(changes) or "pairs, lesson, Muon", {})
        cell[f"{run.table}/{run.row}"] = f"{score(finished):.1f}"

    columns = list(dict.fromkeys(name for cell in cells.values() for name in cell))
    body = [[cell, *(scored.get(name, "not run") for name in columns)] for cell, scored in cells.items()]
    yield Table("Crossing: directions right of fresh films, skills outside of the lesson", ["cell", *columns], body, [])


def lesson(runs: Sequence[tuple[Planned, FinishedRun]]) -> Iterator[Table]:
    """Yield the directions right of the lesson's skills on validation videos, after some steps of the lesson alone."""
    steps = (500, 1000, 1500)
    body = []
    for run, finished in runs:
        points = {point["step"]: point for point in read_curves(finished.folder)}
        cells = [f"{points[step][f'val/direction/{name}']:.0f}" for name in LESSON for step in steps]
        body.append([f"{run.table}/{run.row}", str(run.seed), *cells])
    header = ["row", "seed", *(f"{name} after {step}" for name in LESSON for step in steps)]
    yield Table("Lesson alone: directions right of validation videos", header, body, [])


STAGES = {"crossing": crossing, "lesson": lesson}


def main() -> int:
    """Print a table of each stage that has packed runs."""
    plan = read_plan(PLAN)
    for stage, tables in STAGES.items():
        runs = [(run, finished) for run in plan.of(stage) if (finished := packed(run, plan.results))]
        for table in tables(runs) if runs else ():
            print(table.text())
    return 0


if __name__ == "__main__":
    ran(main)
