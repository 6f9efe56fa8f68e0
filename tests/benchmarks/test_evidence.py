"""Test the plan of the runs, the tool that works it off, and the rules that were fixed before."""

import json
import re
import signal
import sys
from dataclasses import replace

import pytest

from benchmarks import evidence
from benchmarks.evidence import Leg, Planned, chosen, packed, read_plan, unsettled
from lit_video.errors import UserError
from lit_video.runs.packing import pack_runs
from lit_video.tables.claims import read_claims
from lit_video.tables.judging import LEARNED, MOSTLY
from lit_video.tables.rules import NOT_YET, RuleChange, digest_of, read_rules
from lit_video.tables.statistics import LEVEL, POWER
from lit_video.tables.statistics.clusters import ENOUGH_CLUSTERS, FEWEST_CLUSTERS
from lit_video.utils.yaml_files import read_yaml
from tests.fake_runs import change_result, recorded, write_result

RATES = (0.001, 0.003, 0.01)


def finished(run, runs, value=50.0, **settings):
    """Write a fake finished run as the plan wants it, with some settings changed; return its folder."""
    folder = run.folder(runs)
    folder.mkdir(parents=True)
    write_result(folder, **facts(run), metrics={run.read.metric: value})
    wanted = run.read.settings | run.read.row(run.row).settings | settings
    change_result(folder, identity={"settings": recorded(wanted)})
    return folder


def facts(run):
    return {
        "table": run.table,
        "scale": run.read.scale,
        "row": run.row,
        "seed": run.seed,
        "gmacs": 1.0,
        "test_videos": 2,
    }


@pytest.fixture
def plan():
    return read_plan(evidence.PLAN)


@pytest.fixture
def small(plan, tmp_path, monkeypatch):
    """The trials of two rows and one later run, with folders of their own and a fake command."""
    rows = ("xvit1", "divided")
    few = [run for run in plan.of("rates") if run.row in rows] + plan.of("profile_1x")[:1]
    monkeypatch.setattr(evidence, "POLL", 0.02)
    return replace(plan, runs=few, rates=replace(plan.rates, takes={"space": "divided"}))


def pack_trials(plan, place, values):
    """Pack the trials of all rows with these results by rate; ``None`` leaves one out."""
    for run in plan.of("rates"):
        value = values[evidence._rate_of(plan.rates, run)]
        if value is not None:
            pack_runs([finished(run, place / "made", value)], place / "results")


def test_the_plan_keeps_to_its_hours_and_to_the_order_of_its_stages(plan):
    stages = list(dict.fromkeys(run.stage for run in plan.runs))
    assert stages == list(plan.stages) and stages[0] == plan.rates.stage
    assert 0 < plan.planned_hours <= plan.hours <= 24
    of_trials = plan.of("rates")
    assert {run.row for run in plan.of("profile_1x")} - {run.row for run in of_trials} == set(plan.rates.takes)


def test_no_trial_and_no_other_run_has_the_same_videos(plan):
    drawings = {stage: {run.read.settings.get("data.drawing", 0) for run in plan.of(stage)} for stage in plan.stages}
    assert drawings.pop("rates") == {1}
    assert all(found == {0} for found in drawings.values())


def test_every_trial_has_its_rate_whatever_the_rows_have(plan):
    for run in plan.of("rates"):
        settings = run.read.settings | run.read.row(run.row).settings
        assert settings[evidence.RATE] == evidence._rate_of(plan.rates, run), run.name
    for run in plan.of("adamw"):
        settings = run.read.settings | run.read.row(run.row).settings
        assert (settings["model.optimization.optimizer"], settings[evidence.RATE]) == ("adamw", 0.001), run.name


def test_a_trial_keeps_its_rate_when_the_table_takes_the_chosen_one(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "EXPERIMENTS", tmp_path)
    text = (evidence.ROOT / "experiments/skills.yaml").read_text()
    mended = re.sub(r"(model\.attention(_type)?: divided,)", r"\1 model.optimization.lr: 0.01,", text)
    assert mended != text
    for folder in ("scale", "parts"):
        (tmp_path / folder).symlink_to(evidence.ROOT / "experiments" / folder)
    (tmp_path / "skills.yaml").write_text(mended)
    assert evidence.rates_of_table(plan, ["divided", "xvit1"]) == {"divided": 0.01, "xvit1": 0.003}
    trial = next(run for run in plan.of("rates") if run.row == "divided")
    assert trial.read.row("divided").settings[evidence.RATE] == 0.001
    finished(trial, tmp_path / "runs")
    pack_runs([tmp_path / "runs"], tmp_path / "results")
    assert packed(trial, tmp_path / "results")


def test_a_packed_run_counts_only_with_the_settings_of_the_plan(plan, tmp_path):
    first, second, third = plan.of("profile_1x")[:3]
    folders = [
        finished(first, tmp_path / "runs"),
        finished(second, tmp_path / "runs", **{"trainer.max_steps": 512}),
    ]
    pack_runs(folders, tmp_path / "results")
    assert packed(first, tmp_path / "results").result.seed == first.seed
    assert not packed(second, tmp_path / "results") and not packed(third, tmp_path / "results")
    left = evidence.waiting(replace(plan, runs=[first, second, third]), tmp_path / "results")
    assert left == [second, third]


@pytest.mark.parametrize(
    ("values", "rate"),
    [
        ((50.0, 60.0, 40.0), 0.003),
        ((70.0, 60.0, 40.0), 0.001),
        ((50.0, 60.0, 60.5), 0.01),
        ((60.0, 60.0, 40.0), 0.003),
        ((60.0, 50.0, 60.0), 0.003),
        ((60.0, 50.0, None), None),
    ],
)
def test_the_rate_with_the_highest_result_is_chosen_and_a_tie_takes_the_default(small, tmp_path, values, rate):
    pack_trials(small, tmp_path, dict(zip(RATES, values, strict=True)))
    assert chosen(small, tmp_path / "results") == dict.fromkeys(("divided", "xvit1", "space"), rate)


def test_rates_that_differ_from_the_table_are_refused(small, tmp_path, capsys):
    pack_trials(small, tmp_path, {0.001: 50.0, 0.003: 60.0, 0.01: 70.0})
    assert len(unsettled(small, tmp_path / "results")) == 3
    assert evidence.print_rates(small, tmp_path / "results", check=True) == 1
    assert "divided: the table has 0.003, the trials chose 0.01" in capsys.readouterr().out
    leg = Leg(small, tmp_path / "runs", tmp_path / "results", minutes=60)
    assert leg.work() == 1
    assert "waits for the rates" in capsys.readouterr().out and not (tmp_path / "runs").exists()


FAKE = """
import shutil, signal, sys, time
made, folder, habit = sys.argv[1:]
if habit == "fail":
    sys.exit("it went wrong")
if habit == "wait":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    (open(folder + "/started", "w")).close()
    time.sleep(60)
shutil.copytree(made, folder, dirs_exist_ok=True)
"""


def fake(tmp_path, monkeypatch, habits=()):
    """Let runs copy what was made before; ``habits`` are by row and rate."""

    def command(run, runs, reuse):
        made = run.folder(tmp_path / "made")
        if not made.exists():
            finished(run, tmp_path / "made", 60.0 if "drawing1_rate3" in run.read.scale else 50.0)
        habit = next((habit for text, habit in habits if text in run.name), "none")
        return [sys.executable, "-c", FAKE, str(made), str(run.folder(runs)), habit]

    monkeypatch.setattr(Planned, "command", command)


def test_a_leg_packs_every_run_in_the_order_of_the_plan_and_a_second_leg_has_nothing_to_do(
    small, tmp_path, monkeypatch, capsys
):
    fake(tmp_path, monkeypatch)
    assert Leg(small, tmp_path / "runs", tmp_path / "results", minutes=60).work() == 0
    started = re.findall(r"^\w+: (.*): planned", capsys.readouterr().out, re.M)
    assert started == [run.name for run in small.runs]
    assert all(packed(run, tmp_path / "results") for run in small.runs)
    assert Leg(small, tmp_path / "other", tmp_path / "results", minutes=60).work() == 0
    assert "no run is left" in capsys.readouterr().out


def test_a_leg_of_some_stages_leaves_the_others_waiting(small, tmp_path, monkeypatch, capsys):
    fake(tmp_path, monkeypatch)
    first = small.runs[0].stage
    assert Leg(small, tmp_path / "runs", tmp_path / "results", minutes=60, stages=[first]).work() == 0
    left = [run for run in small.runs if not packed(run, tmp_path / "results")]
    assert left == [run for run in small.runs if run.stage != first] != []

    monkeypatch.setattr(sys, "argv", ["evidence", "run", "--stages", "real_control"])
    assert evidence.main() == 2
    assert "no stage 'real_control' (did you mean real_controls?)" in capsys.readouterr().err


def test_a_failed_run_does_not_stop_the_others_and_the_status_says_so(small, tmp_path, monkeypatch, capsys):
    fake(tmp_path, monkeypatch, [("rate3 xvit1", "fail")])
    assert Leg(small, tmp_path / "runs", tmp_path / "results", minutes=60).work() == 1
    out = capsys.readouterr().out
    assert "FAILED: skills profile+drawing1_rate3 xvit1 seed 0: it went wrong" in out
    assert sum(bool(packed(run, tmp_path / "results")) for run in small.runs) == len(small.runs) - 2
    assert "profile_1x waits for the rates" in out


def test_no_run_is_started_that_takes_longer_than_is_left(small, tmp_path, monkeypatch, capsys):
    fake(tmp_path, monkeypatch)
    minutes = small.runs[0].seconds / 60 - 0.5
    assert Leg(small, tmp_path / "runs", tmp_path / "results", minutes=minutes).work() == 0
    assert "minutes as planned" in capsys.readouterr().out and not (tmp_path / "runs").exists()


def test_a_signal_stops_the_run_and_the_next_leg_goes_on_with_it(small, tmp_path, monkeypatch, capsys):
    second = small.runs[1]
    fake(tmp_path, monkeypatch, [(second.name, "wait")])
    leg = Leg(small, tmp_path / "runs", tmp_path / "results", minutes=60)
    watch = leg._watch

    def interrupted():
        if (second.folder(tmp_path / "runs") / "started").exists() and not leg.stop:
            signal.raise_signal(signal.SIGTERM)
        watch()

    monkeypatch.setattr(leg, "_watch", interrupted)
    assert leg.work() == 143
    assert [bool(packed(run, tmp_path / "results")) for run in small.runs[:2]] == [True, False]
    fake(tmp_path, monkeypatch)
    assert Leg(small, tmp_path / "runs", tmp_path / "results", minutes=60).work() == 0
    assert all(packed(run, tmp_path / "results") for run in small.runs)
    assert "stopped at a checkpoint" in capsys.readouterr().out


def test_a_run_with_other_settings_than_the_plans_fails(small, tmp_path, monkeypatch, capsys):
    fake(tmp_path, monkeypatch)
    finished(small.runs[0], tmp_path / "made", **{"model.optimization.lr": 0.5})
    assert Leg(small, tmp_path / "runs", tmp_path / "results", minutes=60).work() == 1
    assert "its settings are not the plan's: {'model.optimization.lr': (0.001, 0.5)}" in capsys.readouterr().out


def test_real_video_is_skipped_where_there_is_none(plan, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path))
    monkeypatch.setattr(evidence, "SHARED_DATA", tmp_path / "none")
    assert evidence.print_status(plan, tmp_path) == 0
    assert "real_controls: no utd_mhad" in capsys.readouterr().out
    assert not any(run.needs for run in evidence.waiting(plan, tmp_path))
    (tmp_path / "avletters").mkdir()
    assert {run.table for run in evidence.waiting(plan, tmp_path) if run.needs} == {"avletters"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hours": 1}, "hours are planned"),
        ({"seed": [0]}, "seed: no such key"),
        ({"row": "divded"}, "no row 'divded'"),
        ({"twice": True}, "is planned twice"),
    ],
)
def test_a_wrong_plan_is_refused(tmp_path, change, message):
    content = read_yaml(evidence.PLAN)
    first = content["stages"]["rates"]["runs"][0]
    if "hours" in change:
        content["hours"] = change["hours"]
    if "seed" in change:
        first["seed"] = change["seed"]
    if "row" in change:
        first["tables"] = {"skills": {change["row"]: 1.0}}
    if "twice" in change:
        content["stages"]["rates"]["runs"].append(first)
    path = tmp_path / "plan.yaml"
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        read_plan(path)


def test_thresholds_are_those_of_the_code():
    rules = read_rules(evidence.EXPERIMENTS)
    assert rules.thresholds == {
        "learned": LEARNED,
        "level": pytest.approx(LEVEL),
        "power": POWER,
        "mostly": MOSTLY,
        "fewest_clusters": FEWEST_CLUSTERS,
        "enough_clusters": ENOUGH_CLUSTERS,
    }


def test_every_file_of_the_plan_is_as_fixed_or_its_change_is_listed(plan):
    rules = read_rules(evidence.EXPERIMENTS)
    files = evidence.files_of(plan, evidence.PLAN)
    for file in ("benchmarks/evidence.yaml", "experiments/parts/xvit_skills.yaml", "experiments/claims/1_xvit.yaml"):
        assert file in files
    assert set(files) <= rules.digests.keys() | {file for change in rules.changes for file in change.files}
    assert rules.differing(evidence.ROOT) == {}, "list it under changes: python -m benchmarks.evidence rules"


def test_a_changed_file_must_be_listed_with_its_new_digest(tmp_path):
    (tmp_path / "a.yaml").write_text("lr: 1")
    rules = read_rules(evidence.EXPERIMENTS)
    rules = replace(rules, digests={"a.yaml": digest_of(tmp_path / "a.yaml")}, changes=[])
    assert rules.differing(tmp_path) == {}
    (tmp_path / "a.yaml").write_text("lr: 2")
    assert list(rules.differing(tmp_path)) == ["a.yaml"]
    files = {"a.yaml": digest_of(tmp_path / "a.yaml")}
    change = RuleChange("2026-11-28", files, what="the rate", why="a trial", stage="profile_1x")
    listed = replace(rules, changes=[change])
    assert listed.differing(tmp_path) == {}
    (tmp_path / "a.yaml").unlink()
    assert list(listed.differing(tmp_path)) == ["a.yaml"], "a file that is gone differs too"


def test_digests_are_written_until_a_commit_fixed_them(plan, tmp_path, monkeypatch):
    path = tmp_path / "claims/rules.yaml"
    path.parent.mkdir()
    monkeypatch.setattr(evidence, "RULES", path)
    monkeypatch.setattr(evidence, "read_rules", lambda _: read_rules(tmp_path))
    text = (evidence.EXPERIMENTS / "claims/rules.yaml").read_text()
    path.write_text(re.sub("commit: .*", f"commit: {NOT_YET}", text.partition("\ndigests:")[0]) + "\ndigests: {}\n")
    assert evidence.print_rules(plan, write=False) == 1
    assert evidence.print_rules(plan, write=True) == 0
    path.write_text(path.read_text().replace(f"commit: {NOT_YET}", "commit: 0123456789ab"))
    with pytest.raises(UserError, match="0123456789ab"):
        evidence.print_rules(plan, write=True)


def test_scales_that_decide_claims_are_those_of_the_plan(plan):
    planned = {(run.table, run.read.scale) for run in plan.runs}
    left_out = "\n".join(read_yaml(evidence.PLAN)["left_out"])
    for claim in read_claims(evidence.EXPERIMENTS):
        if claim.decided_at and claim.table.name not in left_out:
            assert (claim.table.name, claim.decided_at) in planned, claim.text
