"""Test the tables of the trials, on made runs in packs of a small plan."""

import numpy as np
import pytest

from benchmarks import evidence
from benchmarks.trials import tables
from lit_video.datamodules.temporal_skills import SKILLS
from lit_video.errors import UserError
from lit_video.runs.folder import write_curves
from lit_video.runs.packing import pack_runs
from lit_video.runs.predictions import Draws, Predictions, file_of_further, packed_predictions
from tests.fake_runs import change_result, recorded, write_result

PAIRS = 40
PLAN = """
hours: 1
end: 30
results: RESULTS
stages:
  crossing:
    why: One cell, in two lengths.
    runs:
      - configs: [F/trials.yaml, benchmarks/trials/half.yaml, F/trials_cooldown.yaml]
        seeds: [0]
        steps: 1
        step: 1.0
        tables: {ablation_tw: {tw1: 1.0}}
      - configs: [F/trials.yaml, F/trials_cooldown.yaml]
        seeds: [0]
        steps: 1
        step: 1.0
        tables: {ablation_tw: {tw1: 1.0}}
  lesson:
    why: One row.
    runs:
      - configs: [F/trials.yaml, F/trials_lesson.yaml]
        seeds: [0]
        steps: 1
        step: 1.0
        tables: {ablation_tw: {tw1: 1.0}}
""".replace("F/", "benchmarks/trials/")


def films(right):
    """Return predictions of films and their reverses; of each skill a share of the pairs is right."""
    target = np.repeat(np.arange(2 * len(SKILLS)), PAIRS)
    pair = np.tile(np.arange(PAIRS), 2 * len(SKILLS))
    of_skill = np.array([right[SKILLS[number // 2]] for number in target])
    said = np.where(pair < PAIRS * of_skill, target, target // 2 * 2)
    names = [f"{skill} {way}" for skill in SKILLS for way in ("back", "forth")]
    opposite = np.arange(2 * len(SKILLS)) ^ 1
    logits = np.eye(2 * len(SKILLS))[said]
    draws = Draws.of_names("pair", [f"{number // 2}/{which}" for number, which in zip(target, pair, strict=True)])
    return Predictions.of_logits(np.arange(len(target)), {"": (logits, target, names)}, opposite=opposite, draws=draws)


def write_trial(run, runs, *, steps, right):
    """Write a finished run as the plan wants it, which tells a share of each skill's films."""
    folder = run.folder(runs)
    folder.mkdir(parents=True)
    predictions = films(right)
    task = predictions.tasks[""]
    metrics = {"test/video_top1": 50.0}
    for split in ("train", "fresh"):
        (folder / file_of_further(split)).write_bytes(packed_predictions(predictions))
        metrics[f"{split}/video_top1"] = 100 * float(task.hits().mean())
        for number, skill in enumerate(SKILLS):
            of_skill = task.target // 2 == number
            metrics[f"{split}/direction/{skill}"] = 100 * float(task.direction[of_skill].mean())
    validated = {"epoch": 1, "val/loss": 1.0, "val/direction/drift": 90.0}
    curve = [validated | {"step": step, "val/direction/order1": 52.0 + step / 50} for step in (500, 1000, 1500)]
    curve[0]["val/direction/order1"] = 52.0
    write_curves(folder, curve)
    facts = {"table": run.table, "scale": run.read.scale, "row": run.row, "seed": run.seed, "steps": steps}
    write_result(folder, **facts, test_videos=2, metrics=metrics)
    change_result(folder, identity={"settings": recorded(run.read.settings | run.read.row(run.row).settings)})


@pytest.fixture
def trials(tmp_path, monkeypatch):
    """Pack a training of 4,000 steps, and its half, 500 of a lesson and 1,750, which tells less."""
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN.replace("RESULTS", str(tmp_path / "results")))
    plan = evidence.read_plan(path)
    half, full, lesson = plan.runs
    seen = dict.fromkeys(SKILLS, 1.0) | {"meeting": 0.5, "duration": 0.0}
    write_trial(half, tmp_path / "made", steps=2250, right=seen | {"meeting": 0.3})
    write_trial(full, tmp_path / "made", steps=4000, right=seen)
    write_trial(lesson, tmp_path / "made", steps=1501, right=seen)
    pack_runs([tmp_path / "made"], plan.results)
    monkeypatch.setattr(tables, "PLAN", path)


def test_a_trial_says_what_has_begun_and_what_has_finished(trials, capsys):
    assert tables.main() == 0
    said = capsys.readouterr().out
    assert "Crossing: directions right of" in said
    of_lengths, _, of_lessons = said.partition("Length:")[2].partition("Lesson:")
    (half, full) = (line.split("│") for line in of_lengths.splitlines() if "tw1" in line)
    assert [cell.strip() for cell in half[2:4]] == ["0", "2250"] and full[3].strip() == "4000"
    begun, not_begun, unfinished, gain = (cell.strip() for cell in full[8:12])
    assert (begun, not_begun, unfinished) == ("drift", "duration", "")
    assert gain.startswith("+1.") and half[11].strip() == "" and half[10].strip() == "meeting"

    (lesson,) = (line.split("│") for line in of_lessons.splitlines() if "tw1" in line)
    assert [cell.strip() for cell in lesson[2:6]] == ["0", "drift", "drift, order1", "drift, order1"]


def test_a_stage_of_no_table_is_refused(trials):
    tables.PLAN.write_text(tables.PLAN.read_text().replace("  lesson:\n", "  repeats:\n"))
    with pytest.raises(UserError, match=r"stage repeats is in no table; add it to STAGES"):
        tables.main()
