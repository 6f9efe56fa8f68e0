"""docs/evidence.md: what was planned for version 3 and run, what chose the settings, and verdicts before and after.

python docs/scripts/evidence_page.py [--check]
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from written_page import filled, write_or_compare

from lit_video.tables.claims import read_claims
from lit_video.tables.reading import read_table
from lit_video.tables.table import Table
from lit_video.utils.text import markdown_lines

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks is not installed
evidence = import_module("benchmarks.evidence")
verdicts_of = import_module("benchmarks.version2").verdicts_of

PAGE = ROOT / "docs" / "evidence.md"
EXPERIMENTS = ROOT / "experiments"
RESULTS = ROOT / "benchmarks" / "results"
BEFORE = RESULTS / "version2.json"
REPRODUCE = ROOT / "REPRODUCE.md"
SYNTHETIC = "TemporalSkills"
SEEDS = 3  # a table of the plan has three
LONGEST = "profile_4x"  # stage of the longest runs, with fewer seeds than the others
NOT_TESTABLE = "not testable here"
PAPERS_NUMBER = re.compile(r", arXiv:[\d.]+")
UNTESTED = ("not run", NOT_TESTABLE)
BLOCKS = ("{hours}", "{whys}", "{rates}", "{verdicts}", "{not_run}")  # paragraphs that are tables

# sentences of version 2 that were nearer the papers' words later: the claim of today's page that took their place
REWORDED = {
    "One layer of TA is enough.": "One layer of TA is enough, further ones bring no additional benefit.",
    "TA alone is better than the summary token, and than both.": (
        "Where order matters (SSv2), TA alone is better than the summary token, and than both."
    ),
    "Divided attention is better than joint attention.": "Divided attention is better than joint attention (SSv2).",
    "Divided attention is better than local-global and axial attention.": (
        "Divided attention is better than local-global and axial attention (SSv2)."
    ),
    "On Kinetics-400 positions in time matter little.": (
        "On Kinetics-400 positions in space alone are nearly as good as in space and time."
    ),
    "Larger pictures are better.": "Larger pictures are better, up to a size (Kinetics-400).",
    "More frames are better.": "More frames are better, from 8 to 96 (Kinetics-400).",
    "TimeSformer is better than I3D and SlowFast.": (
        "TimeSformer is better than I3D, both from ImageNet-1K (Kinetics-400)."
    ),
    "ViT-B/16 is better than other sizes of model and patch, on Kinetics-400.": (
        "ViT-B/16 is better than other sizes of model and patch (Kinetics-400)."
    ),
    "The factorised encoder (model 2) is as good as joint attention where there is little data (Epic-Kitchens).": (
        "The factorised encoder (model 2) is the best where there is little data (Epic-Kitchens)."
    ),
    "Further layers of the temporal encoder add little.": (
        "The number of layers of the temporal encoder matters little."
    ),
    "Accuracy no longer grows where the clips cover the video.": (
        "Where the clips cover the video, further ones add little."
    ),
}

TEXT = """\
# The runs on the synthetic videos: plan, hours, and what changed

For anyone who asks how the verdicts on TemporalSkills came about, or wants to add runs. Written by
`python docs/scripts/evidence_page.py` from the [plan](../benchmarks/evidence.yaml), the runs in `benchmarks/results`
and [what version 2 had found](../benchmarks/results/version2.json); a test keeps it up to date.

## Why everything was run again

In version 2 of these videos the direction of some skills could be told from the first frame alone. No number was wrong,
but what it was said to mean was: a model that knows *which* frame it looks at needed no attention in time. Version 3
starts each film at a random step of a circle of time, so that one frame at a known time tells nothing, and every
scheme stands beside a control without attention between frames ([skills](skills.md#floors-and-controls)). Verdicts are
stricter too: a row that has not learned its training videos decides nothing, claims share one error rate, and
sentences such as "as good as" are tested on the side that they speak of.

Rules, rows, seeds and hours were committed before the first run. [REPRODUCE.md](../REPRODUCE.md) names that commit and
lists every later change.

## Hours

Hours of one core, {cap} at most. Planned hours are from the demo's time per step, before any run; trained ones are the
times that the runs recorded, mostly two beside each other on a machine of two cores.
`python -m benchmarks.evidence status` prints this table.

{hours}

{whys}

{left}

## What chose the settings

The rate of each row of [skills](skills.md) is the best of three on the test videos of *another drawing* of the data
set, one seed each. Results are never of these videos, and no test video of a result chose anything. In percent, top-1:

{rates}

All other settings of these tables stood before the first run. Those of UTD-MHAD were chosen by hand on a training
person, for X-ViT with temporal attention alone, and the trials were not kept ([real video](real_video.md)). How those
of AVLetters were chosen was not recorded. It has no videos but the training and the tested ones, so its accuracies may
be too high; the schemes share the settings.

## Verdicts before and after

Claims that runs of version 2 had decided or left open, with today's verdict. Reworded claims stand beside the one that
took their place. REPRODUCE.md has the differences, their power and the follow-ups on real video. "Not run" is no step
back: the runs of version 2 are gone with their videos, and their verdicts with them.

{verdicts}

## What was not run, and what it costs

Tables on the synthetic videos that the plan leaves out. Hours are for {seeds} seeds, each run on one core, as version 2
took for the same rows and steps; a row may need more steps until it has learned, as X-ViT's tables did, with 2,048 in
place of 768. All together: {total:.0f} hours beside the {cap} of the plan. The last column says which
[claims](../REPRODUCE.md) this scale could not decide even then.

{not_run}
"""


def whys(plan: Any) -> str:
    """Return what each stage is run for, as a list."""
    return "\n".join(f"- **{name}**: {why}" for name, why in plan.stages.items())


def left(plan: Any, stages: Sequence[Any]) -> str:
    """Say which hours are left, and what the rules name as their first use."""
    waiting = sum(stage.runs - stage.packed for stage in stages)
    if waiting:
        return f"{waiting} runs of the plan are not packed yet."

    hours = plan.hours - sum(stage.trained for stage in stages)
    (longest,) = [stage for stage in stages if stage.name == LONGEST]
    seed = longest.trained / len({run.seed for run in plan.of(LONGEST)})
    return (
        f"All runs are packed; {hours:.1f} hours are left. By the rules they go to seeds at 4x first; one more seed of "
        f"all rows takes {seed:.1f} hours. It was not run, so differences at 4x hold for these trained models."
    )


def rates_table(plan: Any) -> str:
    """Return the trials of the learning rate by row, and the chosen one."""
    results = evidence.trials(plan, RESULTS)
    best = evidence.chosen(plan, RESULTS)
    rates = sorted(plan.rates.trials.values())
    lines = []
    for row, of_row in results.items():
        values = [f"{of_row[rate]:.1f}" if rate in of_row else "-" for rate in rates]
        lines.append([row, *values, str(best[row] or "-")])
    return markdown_lines(["row", *map(str, rates), "chosen"], lines)


def claim_numbers(today: Mapping[str, str]) -> dict[str, int]:
    """Return the number of each claim on REPRODUCE.md, by its sentence."""
    return {sentence: number for number, sentence in enumerate(today, 1)}


def verdicts_table(before: Mapping[str, str], today: Mapping[str, str]) -> str:
    """Return the claims that version 2 had tested, with their verdicts then and today."""
    numbers = claim_numbers(today)
    lines = []
    for sentence, then in before.items():
        if then.startswith(UNTESTED):
            continue
        now = REWORDED.get(sentence, sentence)
        lines.append([str(numbers[now]), now, then, today[now]])
    lines.sort(key=lambda line: int(line[0]))
    return markdown_lines(["claim", "", "version 2", "version 3"], lines, numbers=False)


def left_out(plan: Any) -> list[Table]:
    """Return the tables on the synthetic videos that the plan leaves out."""
    planned = {run.table for run in plan.runs}
    tables = [read_table([path]) for path in sorted(EXPERIMENTS.glob("*.yaml")) if path.stem not in planned]
    return [table for table in tables if str(table.settings.get("data", "")).endswith(SYNTHETIC)]


def not_run_table(tables: Sequence[Table], times: Mapping[str, Any], today: Mapping[str, str]) -> str:
    """Return what each table that was not run would take, and what its scale could not decide."""
    claims = defaultdict(list)
    for claim in read_claims(EXPERIMENTS):
        claims[claim.table.name].append(claim.text)

    lines = []
    for table in tables:
        steps = "-"
        hours = "not measured"
        if table.name in times:
            time = times[table.name]
            steps = ", ".join(f"{count:,}" for count in time["steps"])
            hours = f"{SEEDS * time['hours']:.1f}"
            if time["rows"] != len(table.rows):
                hours += f" for {time['rows']} of them"
        source = PAPERS_NUMBER.sub("", table.source)
        lines.append([table.name, source, str(len(table.rows)), steps, hours, cannot_decide(claims[table.name], today)])
    return markdown_lines(["table", "source", "rows", "steps", "hours", "cannot decide"], lines, numbers=False)


def cannot_decide(claims: Sequence[str], today: Mapping[str, str]) -> str:
    """Return the numbers of the claims that a scale cannot decide, with the reasons."""
    numbers = claim_numbers(today)
    by_reason = defaultdict(list)
    for sentence in claims:
        verdict, _, reason = today[sentence].partition(": ")
        if verdict == NOT_TESTABLE:
            by_reason[reason].append(str(numbers[sentence]))
    return "; ".join(f"{', '.join(found)}: {reason}" for reason, found in by_reason.items())


def page() -> str:
    """Return the page's text."""
    plan = evidence.read_plan(evidence.PLAN)
    before = json.loads(BEFORE.read_text(encoding="utf-8"))
    today = verdicts_of(REPRODUCE.read_text(encoding="utf-8"))
    times = before["tables"]
    tables = left_out(plan)
    stages = evidence.hours_by_stage(plan, RESULTS)
    said = {
        "cap": plan.hours,
        "seeds": SEEDS,
        "whys": whys(plan),
        "hours": markdown_lines(evidence.HOURS_HEADER, evidence.hours_cells(stages)),
        "left": left(plan, stages),
        "rates": rates_table(plan),
        "verdicts": verdicts_table(before["verdicts"], today),
        "not_run": not_run_table(tables, times, today),
        "total": SEEDS * sum(times[table.name]["hours"] for table in tables if table.name in times),
    }
    return filled(TEXT, said, BLOCKS)


if __name__ == "__main__":
    sys.exit(write_or_compare(PAGE, page()))
