"""Test planned power against intervals of drawn runs, the spread of made trials, and the lines that it prints."""

import math

import numpy as np
import pytest

from benchmarks.evidence import read_plan
from benchmarks.papers import power
from benchmarks.papers.power import FamilySpread, affordable, forecast, seeds_for, spreads
from lit_video.datamodules.temporal_skills import SKILLS
from lit_video.runs.packing import pack_runs
from lit_video.runs.predictions import save_logits
from lit_video.tables.statistics import Spread, detectable, paired_difference
from tests.benchmarks.test_trials import PAIRS, films
from tests.fake_runs import write_result
from tests.tables.experiments import all_claims

CLAIMS = all_claims()
SURE = FamilySpread(Spread(1e-4, 1000), of_videos=1.0, pairs=64, hours=0.1)  # 1 point over seeds, 1 over videos


def claim_that(words):
    (claim,) = [claim for claim in CLAIMS if words in claim.text]
    return claim


def line_of(words, known, pairs=64):
    return forecast(claim_that(words), known, seeds=3, pairs=pairs).line


def test_a_planned_error_is_that_of_the_runs():
    """Draw rows whose seeds deviate by 1 point: the interval's error is the planned one, up to chance."""
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(200):
        rows = [[rng.random(5000) < 0.7 + 0.01 * rng.standard_normal() for _ in range(3)] for _ in range(2)]
        errors.append(paired_difference(*rows).error ** 2)
    of_videos = 1e4 * 2 * 0.21 / 5000 / 3
    planned = FamilySpread(Spread(1e-4, 10**6), of_videos, pairs=64, hours=1.0).difference(3, 64)
    # the spread over seeds holds that of the videos, which are drawn anew for each seed, twice
    assert planned.error**2 == pytest.approx(np.mean(errors), rel=0.4)


def test_few_seeds_of_trials_are_trusted_less():
    few = FamilySpread(Spread(1e-4, 2), of_videos=1.0, pairs=64, hours=0.1)
    assert few.difference(3, 64).error > 1.5 * SURE.difference(3, 64).error


def test_more_seeds_show_less_up_to_the_videos():
    shown = [detectable(SURE.difference(seeds, 64)) for seeds in (2, 3, 5, 12)]
    assert shown == sorted(shown, reverse=True)
    assert seeds_for(SURE, 1, 5.0, pairs=64) < seeds_for(SURE, 4, 5.0, pairs=64) <= power.MOST_SEEDS
    assert not seeds_for(SURE, 1, 1.0, pairs=64)


def test_four_times_the_pairs_halve_the_error_over_videos():
    still = FamilySpread(Spread(0.0, 1000), of_videos=1.0, pairs=64, hours=0.1)
    assert [still.difference(3, pairs).error for pairs in (64, 256)] == pytest.approx([1.0, 0.5])
    assert detectable(SURE.difference(3, 256)) < detectable(SURE.difference(3, 64))


def test_a_line_says_where_how_much_and_how_long_or_why_not():
    known = {"xvit": SURE}
    said = line_of("Mixing channels of neighbouring frames", known)
    assert said.startswith("ablation_tw at embedded, 3 rows: 80 % power ") and said.endswith(" hours")
    assert "not testable as the paper puts it" in line_of("A quarter of the channels", known)
    assert line_of("On Kinetics-400 attention in space", known).startswith("nowhere: ")
    rows = "nowhere: timesformer_1k and i3d also differ in model.image_weights"
    assert line_of("TimeSformer is better than I3D, both", known) == rows
    assert line_of("Divided attention is better than joint", known).endswith("no trials of its family yet")


def test_claims_are_decided_cheapest_first_and_share_their_rows():
    known = dict.fromkeys(("xvit", "timesformer", "vivit"), SURE)
    forecasts = [forecast(claim, known, seeds=3, pairs=256) for claim in CLAIMS]
    alone = {each.claim.text: len(each.rows) * each.seeds * SURE.hours for each in forecasts}
    few = list(affordable(forecasts, 3.0))
    every = list(affordable(forecasts, math.inf))
    assert every[: len(few)] == few and sum(cost for _, cost in few) <= 3.0
    assert len(every) == sum(each.seeds > 0 for each in forecasts) < len(CLAIMS)
    assert all(cost <= alone[each.claim.text] + 1e-9 for each, cost in every)
    assert sum(cost for _, cost in every) < sum(alone[each.claim.text] for each, _ in every), "shared rows count once"


TRIALS = """
hours: 9
end: 30
results: RESULTS
stages:
  finish:
    why: Made seeds of two families, in two lengths, and one cell that was not chosen.
    runs:
      - configs: [F/trials.yaml, F/trials_2000.yaml, F/trials_cooldown.yaml]
        seeds: [0, 1, 2]
        steps: 2000
        step: 1.0e-3
        tables: &rows
          timesformer_schemes: {divided: 1.0}
          vivit_models: {model2: 1.0}
      - {configs: [F/trials.yaml, F/trials_cooldown.yaml], seeds: [0, 1, 2], steps: 4000, step: 1.0e-3, tables: *rows}
      - {configs: [F/trials.yaml, F/trials_adamw.yaml], seeds: [0, 1, 2], steps: 4000, step: 1.0e-3, tables: *rows}
""".replace("F/", "benchmarks/trials/")


@pytest.fixture
def packed_plan(tmp_path):
    """A plan whose longest chosen runs have 90, 85 and 80 % (T+S), and 80 % each (ViViT-2), of the pairs right."""
    path = tmp_path / "plan.yaml"
    path.write_text(TRIALS.replace("RESULTS", str(tmp_path / "packs")))
    plan = read_plan(path)
    for run in plan.runs:
        folder = run.folder(tmp_path / "runs")
        folder.mkdir(parents=True)
        steps = 2000 if "trials_2000" in str(run.configs) else 4000
        chosen = "adamw" not in str(run.configs) and steps == 4000
        share = 0.9 - (0.05 * run.seed if run.table == "timesformer_schemes" else 0.1)
        made = films(dict.fromkeys(SKILLS, share if chosen else 0.5 + 0.2 * run.seed))
        task = made.tasks[""]
        logits = np.where(np.arange(len(task.classes)) == task.predicted[:, None], 1.0, 0.0)
        save_logits(
            folder,
            made.video,
            {"": (logits, task.target, task.classes)},
            opposite=task.opposite,
            draws=made.draws,
        )
        names = {"table": run.table, "scale": run.read.scale, "row": run.row, "seed": run.seed}
        write_result(folder, **names, steps=steps, seconds=1800.0, test_videos=len(task.target))
    for table in ("timesformer_schemes", "vivit_models"):
        pack_runs(sorted((tmp_path / "runs" / table).glob("*/*/*")), tmp_path / "packs")
    return plan


def test_the_spread_of_a_family_is_that_of_its_longest_chosen_trials(packed_plan):
    known = spreads(packed_plan)
    assert known.keys() == {"timesformer", "vivit"}
    # a film is right, and its reverse by half of those that are not: half of the pairs' spread of 5 points
    assert math.sqrt(known["timesformer"].spread.variance) == pytest.approx(0.025)
    assert known["vivit"].spread.variance == 0
    assert (known["vivit"].pairs, known["vivit"].hours) == (PAIRS, pytest.approx((4000 * 1e-3 + 30) / 3600))
    assert "80 % power" in line_of("Divided attention is better than joint", known)


def test_the_trials_at_hand_give_a_line_for_every_claim(capsys):
    assert power.main(["--pairs", "64", "256"]) == 0
    said = capsys.readouterr().out
    assert "xvit: standard deviation over seeds" in said
    assert all(f"{number:2} {claim.text}\n     " in said for number, claim in enumerate(CLAIMS, 1))
    assert "64 pairs: " in said and f" of {len(CLAIMS)} claims can be decided with 40 hours" in said
