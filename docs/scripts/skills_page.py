"""docs/skills.md: what the rows of the skills table can and cannot tell; its numbers come from packed runs.

python docs/scripts/skills_page.py [--check]
"""

import json
import sys
from collections.abc import Mapping, Sequence

from skills_runs import (
    BLIND,
    CONTROLS,
    EXPERIMENTS,
    LENGTHS,
    RESULTS,
    ROOT,
    above_control,
    decides_nothing,
    hits_of_skill,
    is_late,
    labels,
    metric_of,
    runs_at,
    skills_data,
)
from written_page import filled, write_or_compare

from lit_video.datamodules import TemporalSkills
from lit_video.runs.predictions import DIRECTION
from lit_video.tables.judging import LEARNED
from lit_video.tables.row_hits import RowHits
from lit_video.tables.rules import NOT_YET, read_rules
from lit_video.tables.summary import TableRuns
from lit_video.utils.text import markdown_lines
from lit_video.utils.yaml_files import read_yaml

PAGE = ROOT / "docs" / "skills.md"
LEAKAGE = RESULTS / "cpu" / "leakage.json"
NOT_RUN = "not run yet"
ADAMW = ("profile", "adamw")
VIVIT_MODELS = ("model1", "model2", "model3", "model4")
ROWS = (BLIND, *dict.fromkeys(CONTROLS.values()), *CONTROLS)
BLOCKS = ("{floors}", "{lengths}", "{by_skill}", "{short}", "{adamw}")  # paragraphs that are tables
LATE = "*"  # marks a row that ends before it has learned

TEXT = """\
# What the skills tell of attention schemes

For anyone who wants to cite a number of the table [skills](../experiments/skills.yaml), or to argue with one. Written
by `python docs/scripts/skills_page.py` from the runs in `benchmarks/results`; a test keeps it up to date.
The [plan](../benchmarks/evidence.yaml) has the runs; those that are packed: {state}.

## The question

A video shows one of {skills} skills in one of two directions: a shape drifts left or right, one event comes before or
after another. The reverse of every film is a film of the other class. So which *skill* it is can be told without the
order of the frames, and which *direction* cannot. Two numbers, never mixed:

- **recognised**: the skill is right, whatever the direction. It says how well pictures are seen.
- **direction**: of the two classes of the true skill, the right one has the larger logit. All test videos count, also
  those whose skill was not recognised. Chance is 50 %. Schemes are compared by this number alone.

Top-1 over all classes is the share that has both right. A model can recognise drift in every video and tell its
direction in half of them; top-1 then hides that it knows nothing of time.

## Floors and controls

| floor | direction | what it says |
| --- | ---: | --- |
| blind to order | 50 | exact: a film and its reverse have the same frames |
| one frame at a known time | 50 | exact: films start at a random step of a circle of time |
| two neighbouring frames at a known time | by skill, below | what comparing neighbours alone can tell |
| a sum over frames | by skill, below | a bound, no floor: a *threshold* on a sum of what frames show at their time |
| the control | a trained row | same family, positions, aggregation and steps; no attention between frames |

Where a control's frames still meet is measured as its reach: X-ViT's nowhere (0), ViViT's in a tubelet (1),
TimeSformer's in one norm after their mean (all frames of a clip).

What a scheme adds is what lies above *its own control*, not what lies above 50 and not what lies above the blind row.
The events of orderN stand N frames apart in (T - N) / T of the films, and T - N apart in the others, because a film
starts at a random one of T steps. A scheme of reach N compares them in that share alone (`lit_video data floors`
prints it).

{floors}

Two frames: the best guess from the states of neighbouring frames at a known time, for "when" and for places that move
by [enumeration or symmetry](../lit_video/datamodules/floors.py), as boosting finds too
(`python -m benchmarks.two_frames`). For "meeting" both shapes are needed: one alone tells 50.0. Only "speed" and
"when" need more than neighbours; order1 is between, as its two events may be neighbours.

These floors are of version 4 of the videos. In version 3 two neighbouring frames told meeting in 100 % (one shape
alone as well), speed in 86 to 88 and occlusion in 96 to 99.

**Attention in space is not needed** for orderN, duration, count and occlusion: *brightness by time* is enough, one
number of each frame.

The bound is by enumeration; "-": the skill has too many states to enumerate. One frame: accuracy of gradient boosting
on 14 numbers of the first, the middle or the last frame, the highest of the three, on 256 test videos, with a
standard error of 3.1 points ([leakage.json](../benchmarks/results/cpu/leakage.json)).

## Direction at two lengths

Rows train for {steps} steps (1x), and for four times as many (4x). A scheme that gains with the steps had not
learned. One that stays at its control, although it has {learned:.0f} % of the training videos right, has learned
these and nothing that carries over to new films. A row below {learned:.0f} % is marked {late}, unless it cannot see
what the task needs, order or events so far apart: nothing follows from a marked number. In brackets: 95 % interval
over test videos and seeds, of the difference from the control; a video and its reverse are one draw. With one seed the
interval is of these two trained models, not of the methods.

![direction of each scheme beside its control, at two lengths](skills.svg)

{lengths}

What we did not expect:

- **What has not learned misleads.** X-ViT with temporal attention (TA) has {ta_1x} at 1x, the window alone {xvit1_1x}
  (three seeds each), {ta_minus_xvit1_1x} points of direction, but TA has not learned yet. At 4x (one seed each) it is
  {ta_4x} to {xvit1_4x}, {ta_minus_xvit1_4x}: TA tells `order7`, which the window alone does not.
- **A control tells direction.** ViViT-2 without a transformer over time has {control_vivit_1x} at 1x (three seeds) and
  {control_vivit_4x} at 4x (one): its tokens are of two frames, so it reads movement without comparing tokens. Without
  that control all of this would count for ViViT's attention, which adds nothing that is certain here.
- **TimeSformer's schemes have hardly begun to learn** at 4x (one seed): {divided_trained_4x} to
  {joint_trained_4x} % of the training videos are right. Their 50 % says nothing of attention in time.
- **Trained longer, they part.** [TimeSformer's table](results/timesformer.md#timesformer_schemes-embedded_longer) has
  eight skills, clips of 8 frames and 6,144 steps (three seeds). The control has {control_timesformer_longest} % of the
  directions right, ST {joint_longest}, L+G {local_global_longest} and T+S, the paper's choice, {divided_longest}.
  Of the training videos ST has {joint_trained_longest} % right, L+G {local_global_trained_longest} and T+S
  {divided_trained_longest}: below {learned:.0f} % a row has no verdict, and may only need more steps.
- **ViViT's models tell the directions that a tubelet of two frames tells.** On the same eight skills, after as many
  steps ([table](results/vivit.md#vivit_models-embedded_longer), three seeds), models 1 to 4 have {model1_longest},
  {model2_longest}, {model3_longest} and {model4_longest} % of the directions right, and the mean over tubelets, which
  has no transformer over time, {average_pool_longest}. The models recognise {order2_models} % of `order2`, events that
  stand two frames apart, the mean {order2_mean}: attention in time is used for *what* is shown, not yet for which way.
  They have {trained_models} % of the training videos right.
- **No scheme counts**: `count` stays at 50 for all of them, at both lengths.

## Direction by skill

The direction of a control, and the points that a scheme is above its own control. Bold: its interval excludes 0. As
above, {late} marks rows that decide nothing yet.

![points above the control by skill and scheme, at two lengths](skills_by_skill.svg)

{by_skill}

These intervals are not corrected for their number: of {count} with no difference behind them, about {chance:.0f}
would exclude 0. They show where to look; the table above is what was asked.

## Clips of eight frames

The same rows at the table's own scale: eight of the skills, clips of 8 frames, {short_steps} steps, one seed.

{short}

## Rate and optimizer

Every row trains with Muon, which none of the papers uses. Its rate is chosen for each row of {rates} by top-1 on the
test videos of another drawing (`data.drawing: 1`), with one seed. No test video of this page chose anything. One seed
with AdamW at 0.001 for all rows asks whether the order of schemes hangs on the optimizer; no rate was tried for it.

{adamw}

At that rate the schemes learn less in the same steps: they have {trained_adamw} % of the training videos right, with
Muon {trained_1x}. Two things hold with both: X-ViT's rows are above their control, and no other scheme is so by more
than a few points. One does not: temporal attention and the window alone change places, {ta_minus_xvit1_adamw} points of
direction with AdamW (one seed), {ta_minus_xvit1_1x} with Muon (three). So at this length their order does hang on
optimizer and rate, and a marked number tells nothing of the method.

## What the rows can tell

- Whether attention between frames was used at all: a difference from the control whose interval excludes 0.
- Which skills it was used for, and whether a row needed more steps: the same row at 1x and 4x.
- Whether two schemes differ at these steps and this size: `lit_video table --config experiments/skills.yaml --config
  experiments/scale/profile.yaml --pairs`.

## What they cannot tell

- Whether a scheme *cannot* learn a skill. More steps, another size, start or rate might. Only reach is a proof: a
  scheme that compares no two frames so far apart, see `lit_video data floors`.
- The order of schemes on real video. Networks are 48 wide and 4 layers deep, videos 16 frames of 32 x 32 pixels. On
  [real video](real_video.md) single frames tell much of the class, and fewer differences can be shown.
- What pretraining adds. All rows start from the same small image model; the papers start from ImageNet-21k.
- Equal compute. Steps are equal, multiply-adds and times are not; the table's own columns have them.
- ViViT beside the others, position by position: its positions start with 0.02, a token is two frames, and ViViT-2 has
  two layers more. Compare ViViT with its own control.

## To cite

Give the row, the scale ({scales}), the number of seeds, direction *and* recognised, the control's direction, and the
commit beside the table in [results](results/ours.md). The rules were fixed {fixed}; later changes are listed in
[REPRODUCE.md](../REPRODUCE.md).
"""


def number(value: float | None) -> str:
    """Return a number in percent; a dash if there is none."""
    return "-" if value is None else f"{value:.1f}"


def span(runs: TableRuns, rows: Sequence[str], metric: str) -> str:
    """Return the lowest and the highest mean of rows in percent, as ``LOW to HIGH``."""
    values = [value for row in rows if (value := metric_of(runs, row, metric)) is not None]
    return f"{min(values):.1f} to {max(values):.1f}"


def by_length(runs: TableRuns) -> str:
    """Return the table of a length: direction, recognised and the difference from the control by row."""
    if not runs.finished:
        return NOT_RUN
    lines = []
    for row in ROWS:
        seeds = str(len(runs.by_row.get(row, ())))
        learned = number(metric_of(runs, row, "train/video_top1")) + (LATE if is_late(runs, row) else "")
        metrics = (DIRECTION, "test/recognised", "test/video_top1")
        numbers = [number(metric_of(runs, row, metric)) for metric in metrics]
        lines.append([labels(runs)[row], seeds, learned, *numbers, difference(runs, row)])
    header = ["row", "seeds", "training videos", "direction", "recognised", "top-1", "direction above its control"]
    return markdown_lines(header, lines)


def difference(runs: TableRuns, row: str) -> str:
    """Return a scheme's difference from its control with its interval; a dash without runs and for other rows."""
    found = above_control(runs.row_hits, row) if row in CONTROLS else None
    if found is None:
        return "-"
    return f"{found}{LATE if decides_nothing(runs, row) else ''}"


def by_skill(runs: TableRuns, opposites: Mapping[str, tuple[int, int]]) -> str:
    """Return the table of a length by skill: direction of each control, and what each scheme adds to it."""
    if not runs.finished:
        return NOT_RUN
    columns = columns_by_skill(runs)
    lines = []
    for skill, classes in opposites.items():
        hits = hits_of_skill(runs, classes)
        cells = [
            added(hits, row) if row in CONTROLS else number(metric_of(runs, row, f"{DIRECTION}/{skill}"))
            for row in columns
        ]
        lines.append([skill, *cells])
    return markdown_lines(["skill", *columns.values()], lines)


def columns_by_skill(runs: TableRuns) -> dict[str, str]:
    """Return the rows that are columns by skill, with their headings: each control, then the schemes of its family."""
    columns = {}
    for control in dict.fromkeys(CONTROLS.values()):
        columns[control] = labels(runs)[control]
        for row in CONTROLS:
            if CONTROLS[row] == control and row in runs.hits:
                columns[row] = labels(runs)[row] + (LATE if decides_nothing(runs, row) else "")
    return columns


def added(hits: RowHits, row: str) -> str:
    """Return the points that a scheme has above its control, bold if their interval excludes 0."""
    found = above_control(hits, row)
    if found is None:
        return "-"
    if not found.bounded:
        return f"{found.value:+.1f}, no interval"
    points = f"{found.value:+.1f} ± {(found.high - found.low) / 2:.1f}"
    return f"**{points}**" if found.sign else points


def quoted(at: Mapping[str, TableRuns], adamw: TableRuns) -> dict[str, str]:
    """Return what the text quotes, by its names: direction and accuracy on training videos by row, TA's difference."""
    said = {}
    longest = runs_at(("embedded_longer",), table="timesformer_schemes")
    vivit = runs_at(("embedded_longer",), table="vivit_models")
    for length, runs in [*at.items(), ("adamw", adamw), ("longest", longest), ("longest", vivit)]:
        for row in runs.by_row:
            said[f"{row}_{length}"] = number(metric_of(runs, row, DIRECTION))
            said[f"{row}_trained_{length}"] = number(metric_of(runs, row, "train/video_top1"))

    order2 = "test/recognised/order2"
    said["order2_models"] = span(vivit, VIVIT_MODELS, order2)
    said["order2_mean"] = number(metric_of(vivit, "average_pool", order2))
    said["trained_models"] = span(vivit, VIVIT_MODELS, "train/video_top1")
    said["trained_adamw"] = span(adamw, [*CONTROLS], "train/video_top1")
    said["trained_1x"] = span(at["1x"], [*CONTROLS], "train/video_top1")
    for length, runs in {**at, "adamw": adamw}.items():
        said[f"ta_minus_xvit1_{length}"] = str(runs.row_hits.difference("ta", "xvit1"))
    return said


def floors_of(data: TemporalSkills, leakage: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table of the bounds by skill, and of what boosting told from one frame."""
    sums = data.sum_ceilings()
    two_frames = data.two_frames_ceilings()
    lines = []
    for skill in data.opposites:
        frame = max(leakage[skill][which] for which in ("first", "middle", "last"))
        bound = f"{sums[skill]:.1f}" if skill in sums else "-"
        lines.append([skill, f"{frame:.1f}", f"{two_frames[skill]:.1f}", bound])
    return markdown_lines(["skill", "one frame, measured", "two frames", "sum over frames, bound"], lines)


def fixed_when() -> str:
    """Say which commit fixed the rules."""
    rules = read_rules(EXPERIMENTS)
    assert rules is not None
    return "in no commit yet" if rules.commit == NOT_YET else f"in commit {rules.commit}"


def page() -> str:
    """Return the page's text."""
    data = skills_data()
    at = {name: runs_at(scales) for name, scales in LENGTHS.items()}
    adamw = runs_at(ADAMW)
    short = runs_at(())
    parts = {name: by_length(runs) for name, runs in at.items()}
    skills = {name: by_skill(runs, data.opposites) for name, runs in at.items()}
    plan = read_yaml(ROOT / "benchmarks/evidence.yaml")
    count = len(data.opposites) * len(CONTROLS) * len(LENGTHS)
    run = ", ".join(f"{name} {len(runs.finished)}" for name, runs in {**at, "AdamW": adamw, "8 frames": short}.items())
    said = {
        "state": run,
        "skills": len(data.opposites),
        "floors": floors_of(data, json.loads(LEAKAGE.read_text(encoding="utf-8"))["accuracy"]["profile"]),
        "steps": f"{read_yaml(EXPERIMENTS / 'scale/profile.yaml')['trainer']['max_steps']:,}",
        "learned": LEARNED,
        "late": LATE,
        "lengths": "\n\n".join(f"### {name}\n\n{text}" for name, text in parts.items()),
        **quoted(at, adamw),
        "by_skill": "\n\n".join(f"### By skill, {name}\n\n{text}" for name, text in skills.items()),
        "count": count,
        "chance": 0.05 * count,
        "rates": ", ".join(str(rate) for rate in plan["rates"]["trials"].values()),
        "short": by_length(short),
        "short_steps": f"{short.by_row['xvit1'][0].result.steps:,}",
        "adamw": by_length(adamw),
        "scales": ", ".join(f"`{'+'.join(scales)}`" for scales in LENGTHS.values()),
        "fixed": fixed_when(),
    }
    return filled(TEXT, said, BLOCKS)


if __name__ == "__main__":
    sys.exit(write_or_compare(PAGE, page()))
