"""Print what the trials of the recipe have shown so far, by the rules of docs/trials.md.

    python -m benchmarks.trials.tables

Each number is of one trained model, on *fresh* films of drawing 1: directions right in percent, a mean over the skills
outside of its lesson. Trials choose settings; they are no results.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.evidence import Planned, packed, read_plan
from benchmarks.harness import Table, ran
from lit_video.datamodules.temporal_skills import SKILLS
from lit_video.errors import UserError
from lit_video.runs.folder import FinishedRun
from lit_video.tables.finishing import begun_by_step, end_of, lesson_skills, lesson_steps, steps_of_half

PLAN = Path(__file__).with_name("plan.yaml")
LESSON = ("drift", "order1")  # skills of the crossing's first lesson
LESSONS = (500, 1000, 1500)  # lengths of the lesson that rule 5 compares
# files of every cell of the crossing, and of a length
COMMON = ("trials", "trials_2000", "trials_7000", "half", "half_2500", "embedded_longer")
CHOSEN = "trials_cooldown"  # last file of the cell that the crossing has chosen
Trial = tuple[Planned, FinishedRun]


def score(run: FinishedRun, lesson: Collection[str]) -> float:
    """Return the directions right of fresh films, in percent: the mean over the skills outside of a lesson."""
    return fmean(run.result.metrics[f"fresh/direction/{name}"] for name in SKILLS if name not in lesson)


def scales(run: Planned) -> list[str]:
    """Return the names of a run's files of scales."""
    return [Path(name).stem for name in run.configs]


def is_chosen(run: Planned) -> bool:
    """Return whether a run is of the cell that the crossing has chosen."""
    return scales(run)[-1] == CHOSEN


def changes(run: Planned) -> list[str]:
    """Return the files of a run's scales that not every cell has, by their short names, whatever its length."""
    return [name.removeprefix("trials_") for name in scales(run) if name not in COMMON]


def of_any_length(run: Planned) -> str:
    """Return the name of a row of the chosen cell, with its further changes, whatever the number of steps."""
    further = [name for name in changes(run) if f"trials_{name}" != CHOSEN]
    return ", ".join([f"{run.table}/{run.row}", *further])


def crossing(runs: Sequence[Trial]) -> Iterator[Table]:
    """Yield the scores of the crossing: a line for each cell, a column for each row."""
    cells: dict[str, dict[str, str]] = {}
    for run, finished in runs:
        cell = cells.setdefault(", ".join(changes(run)) or "pairs, lesson, Muon", {})
        cell[f"{run.table}/{run.row}"] = f"{score(finished, LESSON):.1f}"

    columns = list(dict.fromkeys(name for cell in cells.values() for name in cell))
    body = [[cell, *(scored.get(name, "not run") for name in columns)] for cell, scored in cells.items()]
    yield Table("Crossing: directions right of fresh films, skills outside of the lesson", ["cell", *columns], body, [])


def lengths(runs: Sequence[Trial]) -> Iterator[Table]:
    """Yield how each training ended: a line for each row and seed, with half of its steps beside it if that was run."""
    chosen = [(run, finished) for run, finished in runs if is_chosen(run)]
    of_steps = {(of_any_length(run), run.seed, finished.result.steps): finished for run, finished in chosen}
    body = []
    for (name, seed, steps), finished in of_steps.items():
        half = of_steps.get((name, seed, steps_of_half(finished)))
        end = end_of(finished, half, finished.result.told or SKILLS)
        if end is None:
            raise UserError(f"{finished.folder}: was not tested on fresh films")

        metrics = finished.result.metrics
        cells = [f"{metrics[f'{split}/video_top1']:.1f}" for split in ("train", "fresh")]
        lesson = sorted(lesson_skills(finished, SKILLS))
        cells.append(f"{score(finished, lesson):.1f}")
        cells.append(", ".join(f"{name} {metrics[f'fresh/direction/{name}']:.0f}" for name in lesson))
        cells += [begun_at(finished, lesson_steps(finished)), ", ".join(end.not_begun), ", ".join(end.unfinished)]
        cells.append(str(end.gain) if end.gain else "")
        body.append([name, str(seed), str(steps), *cells])
    header = ["row", "seed", "steps", "training right", "fresh right", "direction, others", "of the lesson"]
    header += ["begun in the lesson", "not begun", "not finished", "over half"]
    yield Table("Length: fresh films in percent, directions of the skills outside of the lesson", header, body, [])


def lessons(runs: Sequence[Trial]) -> Iterator[Table]:
    """Yield what each training of the lesson alone had begun after some steps: a line for each row and seed."""
    body = []
    for run, finished in runs:
        begun = [begun_at(finished, steps) for steps in LESSONS]
        body.append([of_any_length(run), str(run.seed), *begun])
    yield Table("Lesson: skills begun on the validation videos", ["row", "seed", *map(str, LESSONS)], body, [])


def begun_at(run: FinishedRun, step: int) -> str:
    """Name the lesson's skills whose directions right lie above chance on the validation videos after some steps."""
    begun = begun_by_step(run)[step]
    return ", ".join(name for name in sorted(lesson_skills(run, SKILLS)) if begun[name])


STAGES = {
    ("crossing", "positions", "parts"): crossing,
    (
        *("crossing", "finish", "vivit", "tubelets", "vivit_tubelets", "xvit", "ta_alone", "ta_longer", "timesformer"),
        *("longer", "controls"),
    ): lengths,
    ("lesson", "xvit_lesson", "ta_layers", "ta_positions"): lessons,
}


def main() -> int:
    """Print a table of each stage that has packed runs."""
    plan = read_plan(PLAN)
    for stage in plan.stages.keys() - {stage for stages in STAGES for stage in stages}:
        raise UserError(f"{PLAN}: stage {stage} is in no table; add it to STAGES of {__file__}")
    for stages, tables in STAGES.items():
        planned = [run for stage in stages for run in plan.of(stage)]
        runs = [(run, finished) for run in planned if (finished := packed(run, plan.results))]
        for table in tables(runs) if runs else ():
            print(table.text())
    return 0


if __name__ == "__main__":
    ran(main)
