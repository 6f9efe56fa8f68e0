"""Test the tool that works off a plan of runs, on a small plan with fake runs."""

import re
import shutil
import signal
import sys

import pytest
import yaml
from msgspec import structs

from benchmarks import evidence
from benchmarks.evidence import Leg, Planned, packed, read_plan, table_of
from lit_video.errors import UserError
from lit_video.experiment.request import build_request
from lit_video.experiment.spec import Specs
from lit_video.runs.folder import RUN, packed_files, read_finished, read_record
from lit_video.runs.packing import pack_runs, packed_record, write_pack
from lit_video.runs.packs import packed_runs
from lit_video.runs.record import Identity, differences
from lit_video.tables.reading import read_table
from tests.fake_runs import change_result, recorded, write_result

PLAN = """
hours: 1
end: 30
results: RESULTS
stages:
  short:
    why: >
      Whether a window
      is worth anything.
    runs:
      - configs: [experiments/scale/half.yaml]
        seeds: [0, 1]
        steps: 100
        step: 0.5
        tables: {skills: {xvit1: 1.0, divided: 2.0}}
  real:
    why: The same on real video.
    runs:
      - {configs: [], needs: videos, seeds: [0], steps: 10, step: 1.0, tables: {utd_mhad: {divided: 1.0}}}
"""
RATE = "model.optimization.lr"


def finished(run, runs, **settings):
    """Write a fake finished run as the plan wants it, with some settings changed; return its folder."""
    folder = run.folder(runs)
    folder.mkdir(parents=True)
    facts = {"table": run.table, "scale": run.read.scale, "row": run.row, "seed": run.seed}
    write_result(folder, **facts, gmacs=1.0, test_videos=2, metrics={run.read.metric: 50.0})
    wanted = run.read.settings | run.read.row(run.row).settings | settings
    change_result(folder, identity={"settings": recorded(wanted)})
    return folder


@pytest.fixture
def file(tmp_path, monkeypatch):
    """File of the plan; its real videos are there."""
    (tmp_path / "data/videos").mkdir(parents=True)
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(evidence, "SHARED_DATA", tmp_path / "none")
    monkeypatch.setattr(evidence, "POLL", 0.02)
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN.replace("RESULTS", str(tmp_path / "results")))
    return path


@pytest.fixture
def plan(file):
    return read_plan(file)


def test_a_plan_has_runs_by_stage_and_seed_with_their_times(plan):
    names = [(run.stage, run.row, run.seed, run.seconds) for run in plan.runs]
    of_seeds = [("short", row, seed, seconds) for seed in (0, 1) for row, seconds in (("xvit1", 80), ("divided", 130))]
    assert names == [*of_seeds, ("real", "divided", 0, 40)]
    assert plan.stages["short"] == "Whether a window is worth anything."
    assert plan.planned_hours == pytest.approx(460 / 3600)


def test_the_plan_of_the_docstring_is_one(tmp_path):
    (block,) = re.findall(r"code-block:: yaml\n\n(.*)", evidence.__doc__, re.DOTALL)
    (tmp_path / "plan.yaml").write_text(block)
    plan = read_plan(tmp_path / "plan.yaml")
    assert [run.needs for run in plan.runs] == [""] * 9 + ["utd_mhad"] * 10
    assert {run.seconds for run in plan.runs if run.table == "ablation_summary"} == {0}


def test_a_packed_run_counts_only_with_the_settings_of_the_experiments(plan, tmp_path):
    first, second, third, *_ = plan.runs
    folders = [finished(first, tmp_path / "runs"), finished(second, tmp_path / "runs", **{"trainer.max_steps": 512})]
    pack_runs(folders, tmp_path / "results")
    assert packed(first, tmp_path / "results").result.seed == first.seed
    assert not packed(second, tmp_path / "results") and not packed(third, tmp_path / "results")
    assert evidence.waiting(plan) == [*plan.runs[1:]]


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
    """Let runs copy what was made before; ``habits`` are by a part of the run's name."""

    def command(run, runs):
        made = run.folder(tmp_path / "made")
        if not made.exists():
            finished(run, tmp_path / "made")
        habit = next((habit for text, habit in habits if text in run.name), "none")
        return [sys.executable, "-c", FAKE, str(made), str(run.folder(runs)), habit]

    monkeypatch.setattr(Planned, "command", command)


def test_a_leg_packs_every_run_in_the_order_of_the_plan_and_a_second_leg_has_nothing_to_do(
    plan, tmp_path, monkeypatch, capsys
):
    fake(tmp_path, monkeypatch)
    assert Leg(plan, tmp_path / "runs", minutes=60).work() == 0
    started = re.findall(r"^\w+: (.*): planned", capsys.readouterr().out, re.M)
    assert started == [run.name for run in plan.runs]
    assert all(packed(run, tmp_path / "results") for run in plan.runs)
    assert Leg(plan, tmp_path / "other", minutes=60).work() == 0
    assert "no run is left" in capsys.readouterr().out


def test_a_row_that_another_table_has_trained_is_taken_over(file, tmp_path, monkeypatch, capsys):
    fake(tmp_path, monkeypatch)
    tables = "{ablation_layers: {all: ablation_tw/tw1, odd: 1.0}, ablation_summary: {ta: ablation_tw/tw1}}"
    text = PLAN.replace("{skills: {xvit1: 1.0, divided: 2.0}}", tables).replace("[experiments/scale/half.yaml]", "[]")
    file.write_text(text.replace("RESULTS", str(tmp_path / "results")))
    (tmp_path / "results").mkdir()
    shutil.copy(evidence.ROOT / "benchmarks/results/ablation_tw.tar.xz", tmp_path / "results")

    plan = read_plan(file)
    assert Leg(plan, tmp_path / "runs", minutes=60, stages=["short"]).work() == 1
    said = capsys.readouterr().out
    assert "ablation_layers embedded all seed 1: is ablation_tw/tw1" in said
    assert "ablation_summary embedded ta seed 1: FAILED: it is not ablation_tw/tw1" in said
    assert "ta_layers was 0, now it is 1" in said
    trained = {folder.parts[-2] for folder in (tmp_path / "runs").glob("*/*/*/*")}
    assert trained == {"odd"}

    taken = packed(plan.runs[0], tmp_path / "results")
    source = read_finished(tmp_path / "results/ablation_tw/embedded/tw1/seed0")
    assert taken.result == structs.replace(source.result, table="ablation_layers", row="all")
    assert taken.identity == source.identity
    files = packed_files(taken.folder)
    assert files.keys() == packed_files(source.folder).keys()
    assert all(files[name] == content for name, content in packed_files(source.folder).items() if name != RUN)

    change = structs.replace(source.result, seconds=1.0)
    pack = packed_runs(tmp_path / "results/ablation_tw.tar.xz")
    other = {**pack[source.folder], RUN: packed_record(read_record(source.folder).with_parts(result=change))}
    write_pack(tmp_path / "results/ablation_tw.tar.xz", {**pack, source.folder: other})
    assert not packed(plan.runs[0], tmp_path / "results"), "the source was trained again"


def test_the_command_shows_hours_and_works_off_some_stages(file, plan, tmp_path, monkeypatch, capsys):
    fake(tmp_path, monkeypatch)
    monkeypatch.setattr(
        sys, "argv", ["evidence", "run", str(file), "--runs", str(tmp_path / "runs"), "--stages", "real"]
    )
    assert evidence.main() == 0
    assert [run.stage for run in plan.runs if packed(run, tmp_path / "results")] == ["real"]

    monkeypatch.setattr(sys, "argv", ["evidence", "status", str(file)])
    capsys.readouterr()
    assert evidence.main() == 0
    shown = [line.strip("│ ").split("│") for line in capsys.readouterr().out.splitlines()]
    cells = {line[0].strip(): [cell.strip() for cell in line[1:4]] for line in shown if len(line) == 5}
    assert (cells["short"], cells["real"], cells["all"]) == (["4", "0", "0.12"], ["1", "1", "0.01"], ["5", "1", "0.13"])
    assert shown[-1][0].startswith(f"next: short: {plan.runs[0].name}")

    monkeypatch.setattr(sys, "argv", ["evidence", "run", str(file), "--stages", "reel"])
    assert evidence.main() == 2
    assert "no stage 'reel' (did you mean real?)" in capsys.readouterr().err


def test_a_failed_run_does_not_stop_the_others_and_the_status_says_so(plan, tmp_path, monkeypatch, capsys):
    fake(tmp_path, monkeypatch, [("xvit1 seed 1", "fail")])
    assert Leg(plan, tmp_path / "runs", minutes=60).work() == 1
    assert "FAILED: skills half xvit1 seed 1: it went wrong" in capsys.readouterr().out
    assert sum(bool(packed(run, tmp_path / "results")) for run in plan.runs) == len(plan.runs) - 1


def test_no_run_is_started_that_takes_longer_than_is_left(plan, tmp_path, monkeypatch, capsys):
    fake(tmp_path, monkeypatch)
    minutes = plan.runs[0].seconds / 60 - 0.5
    assert Leg(plan, tmp_path / "runs", minutes=minutes).work() == 0
    assert "minutes as planned" in capsys.readouterr().out and not (tmp_path / "runs").exists()


def test_a_signal_stops_the_run_and_the_next_leg_goes_on_with_it(plan, tmp_path, monkeypatch, capsys):
    second = plan.runs[1]
    fake(tmp_path, monkeypatch, [(second.name, "wait")])
    leg = Leg(plan, tmp_path / "runs", minutes=60)
    watch = leg._watch

    def interrupted():
        if (second.folder(tmp_path / "runs") / "started").exists() and not leg.stop:
            signal.raise_signal(signal.SIGTERM)
        watch()

    monkeypatch.setattr(leg, "_watch", interrupted)
    assert leg.work() == 143
    assert [bool(packed(run, tmp_path / "results")) for run in plan.runs[:2]] == [True, False]
    fake(tmp_path, monkeypatch)
    assert Leg(plan, tmp_path / "runs", minutes=60).work() == 0
    assert all(packed(run, tmp_path / "results") for run in plan.runs)
    assert "stopped at a checkpoint" in capsys.readouterr().out


def test_a_run_with_other_settings_than_the_plans_fails(plan, tmp_path, monkeypatch, capsys):
    fake(tmp_path, monkeypatch)
    finished(plan.runs[0], tmp_path / "made", **{RATE: 0.5})
    assert Leg(plan, tmp_path / "runs", minutes=60).work() == 1
    wanted = plan.runs[0].read.settings[RATE]
    assert f"its settings are not the plan's: {{'{RATE}': ({wanted}, 0.5)}}" in capsys.readouterr().out


def test_real_video_is_skipped_where_there_is_none(plan, tmp_path, capsys):
    assert plan.runs[-1] in evidence.waiting(plan)
    (tmp_path / "data/videos").rmdir()
    assert evidence.print_status(plan) == 0
    assert "no videos in $LIT_VIDEO_DATA" in capsys.readouterr().out
    assert evidence.waiting(plan) == [*plan.runs[:-1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("hours: 1", "hours: 0.1"), "hours are planned"),
        (("seeds: [0]", "seed: [0]"), "real: seed: no such key"),
        (("steps: 10, ", ""), "real: has no steps"),
        (("end: 30", ""), "has no end"),
        (("xvit1: 1.0", "xvitt: 1.0"), "no row 'xvitt'"),
        (("seeds: [0, 1]", "seeds: [0, 0]"), "is planned twice"),
        (("runs:\n      - {configs: []", "runs:\n      - x\n      - {configs: []"), "real: expected the keys"),
    ],
)
def test_a_wrong_plan_is_refused(file, change, message):
    text = PLAN.replace(*change)
    assert text != PLAN and yaml.safe_load(text)
    file.write_text(text)
    with pytest.raises(UserError, match=message):
        read_plan(file)


def test_every_plan_of_the_repository_can_be_worked_off():
    plans = [*evidence.ROOT.glob("benchmarks/*/plan.yaml")]
    assert plans
    for path in plans:
        assert all(table_of(run.files).row(run.row) for run in read_plan(path).runs)


def test_the_campaign_trains_every_row_of_its_tables_with_equal_seeds():
    plan = read_plan(evidence.ROOT / "benchmarks/campaign/plan.yaml")
    seeds = {}
    for run in plan.runs:
        seeds.setdefault((run.table, run.read.scale), {}).setdefault(run.row, set()).add(run.seed)
    for (name, scale), rows in seeds.items():
        table = read_table([evidence.EXPERIMENTS / f"{name}.yaml"])
        is_whole = rows.keys() == {row.name for row in table.rows}
        assert is_whole or scale != table.scale, name
        assert len({*map(frozenset, rows.values())}) == 1, f"{name}: {rows}"


def test_rows_that_the_campaign_takes_over_have_the_settings_of_their_sources():
    specs = Specs()

    def settings(files, row):
        return Identity(specs.of(*build_request(files, [row]).runs).settings)

    taken = [run for run in read_plan(evidence.ROOT / "benchmarks/campaign/plan.yaml").runs if run.source]
    assert taken
    for run in taken:
        if run.seed == 0:
            table, _, row = run.source.partition("/")
            source = settings([evidence.EXPERIMENTS / f"{table}.yaml", *run.files[1:]], row)
            assert differences(source, settings(run.files, run.row)) == [], run.name
