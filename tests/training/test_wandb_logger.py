"""Test what a run records for W&B, and that the run survives when W&B fails."""

import csv
import json
import subprocess
import sys

import pytest
import wandb
from wandb.util import get_core_path

from lit_video.__main__ import main
from lit_video.engine.wandb_logger import RowLogger
from lit_video.reports.wandb import panels
from lit_video.runs.folder import has_result, read_finished
from lit_video.runs.record import RowFacts
from lit_video.tables.reading import read_table
from lit_video.tables.table import Row
from tests.training.wandb_server import keys_of

pytestmark = pytest.mark.wandb


def records(path):
    """Return the records of a part of a run, like ``wandb leet inspect --json``, without a second Python."""
    inspect = [get_core_path(), "leet", "inspect", "--no-observability", "--json", "--run-file", path, path.parents[1]]
    lines = subprocess.run(list(map(str, inspect)), capture_output=True, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def parts(folder):
    """Return the history rows of every offline part of a run, in order."""
    paths = sorted(folder.glob("wandb/offline-run-*/*.wandb"))
    return [[one["history"]["item"] for one in records(path) if one["type"] == "history"] for path in paths]


def read_record(run_dir):
    """Return run, config, summary and artifacts of a record of one part."""
    (path,) = run_dir.glob("wandb/offline-run-*/*.wandb")
    run, config, summary, artifacts = {}, {}, {}, []
    for line in records(path):
        content = line.get(line["type"], {})
        if line["type"] == "run":
            run, config = content, content["config"]["update"]
        elif line["type"] == "config":
            config |= content["update"]
        elif line["type"] == "summary":
            summary |= content.get("update", {})
        elif line["type"] == "artifact":
            artifacts.append(content)
    return run, config, summary, artifacts


@pytest.fixture
def fit(table, tiny, tmp_path):
    """Function that runs a row at the default logging interval and returns its folder."""

    def run(*flags, row="first", runs=tmp_path / "runs"):
        flags = [*(flag for flag in tiny if "log_every" not in flag), *flags]
        assert main(["fit", "--config", str(table[0]), "--row", row, "--runs", str(runs), *flags]) == 0
        return runs / f"two/default/{row}/seed0"

    return run


@pytest.mark.pictures
def test_a_run_of_twelve_steps_has_what_dashboards_look_up(fit, table):
    run_dir = fit("--trainer.max_epochs=3", "--wandb_artifact=last", row="second")
    run, config, summary, artifacts = read_record(run_dir)
    (history,) = parts(run_dir)
    check_facts(run, config, summary, run_dir)
    for key in ("train/loss", "train/lr"):
        assert [row["trainer/global_step"] for row in history if key in row] == [*range(12)]
    assert any("train/data_wait" in row for row in history)
    keys = {key.removesuffix("._type") for row in history for key in row}
    logged = {"config": config, "summary": summary, "metric": keys | summary.keys(), "media": keys}
    sections = panels([read_table([table[0]])], "scheme").values()
    named = {key for section in sections for panel in section for key in keys_of(panel)}
    assert "media figures/confusion" in named
    for kind, key in (name.split(" ", 1) for name in named):
        assert key in logged[kind], f"no {kind} {key} is logged"
    assert [one["name"] for one in artifacts if one["type"] == "model"] == [f"model-{run['run_id']}"]
    check_media(run_dir)


def check_facts(run, config, summary, run_dir):
    finished = read_finished(run_dir)
    result = finished.result
    expected = {key: getattr(result, key) for key in ("table", "row", "scale", "seed", "params", "views", "scheme")}
    expected |= {"commit": finished.identity.commit, "label": "2nd", "title": "Two rows"}
    assert expected == {key: config[key] for key in expected}
    assert config.keys() - expected.keys() <= {"gmacs", "trainer", "data", "model", "_wandb"}
    model = config["model"]
    named = ("class", "window", "mixed", "size_embed_dim")
    assert [model[key] for key in named] == ["XViT", 1, "key,value", 16]
    assert (config["data"]["num_frames"], config["views"]) == (4, 3)
    assert (run["run_group"], run["display_name"]) == ("two", "2nd, seed 0 (Two rows)")
    assert run["tags"] == ["two", "default", "second", "X-ViT", "seed0"]
    assert summary["paper/test/video_top1"] == 62.5
    assert {key: summary[key] for key in result.metrics} == pytest.approx(result.metrics)


def check_media(run_dir):
    """Check that pictures and classes are those of the run's folder."""
    (media,) = run_dir.glob("wandb/offline-run-*/files/media")
    (copy,) = media.glob("images/figures/confusion_*.png")
    assert copy.read_bytes() == (run_dir / "confusion.png").read_bytes()
    classes = json.loads(next(media.glob("table/test/classes_*")).read_text())
    with (run_dir / "classes.csv").open() as file:
        rows = [[*row[:2], *map(float, row[2:])] for row in list(csv.reader(file))[1:]]
    assert (classes["columns"], classes["data"]) == (["task", "class", "videos", "top1", "top5"], rows)


def test_a_resumed_run_goes_on_after_the_rows_of_its_first_part(finished, table, tiny):
    (finished / "run.json").unlink()
    assert main(["fit", "--config", str(table[0]), "--row", "second", "--runs", str(finished.parents[3]), *tiny]) == 0
    first, second = parts(finished)
    reached = max(row.get("trainer/global_step", 0) for row in first)
    assert reached and all(row["_step"] >= reached for row in second)


def test_a_run_without_wandb_keeps_its_result(fit, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wandb", None)  # importing wandb fails
    assert has_result(fit("--trainer.max_epochs=1"))
    _, line = [line for line in capsys.readouterr().out.splitlines() if "W&B" in line]
    assert "import of wandb halted" in line and "nothing is recorded there" in line


def test_a_run_whose_wandb_dies_keeps_its_result(fit, monkeypatch, capsys):
    def die(*args, **settings):
        raise ConnectionResetError("Connection lost")

    monkeypatch.setattr(wandb.Run, "log", die)
    monkeypatch.setattr(wandb, "run", None)  # the dead run would stay there
    assert has_result(fit("--trainer.max_epochs=1"))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "nothing is recorded there after step " in line]
    assert "Connection lost" in line and "; results are in " in line


@pytest.mark.slow
def test_trials_of_a_sweep_have_folders_ids_and_rates_of_their_own(fit, tmp_path, monkeypatch):
    for name, value in {"SWEEP_ID": "s", "PROJECT": "p", "DIR": str(tmp_path)}.items():  # set by W&B's agent
        monkeypatch.setenv(f"WANDB_{name}", value)
    for trial, rate in (("trial1", 0.01), ("trial2", 0.02)):
        monkeypatch.setenv("WANDB_RUN_ID", trial)
        monkeypatch.setenv("WANDB_SWEEP_PARAM_PATH", str(tmp_path / f"{trial}.yaml"))
        (tmp_path / f"{trial}.yaml").write_text(f"model.optimization.lr: {{value: {rate}}}")
        flags = [f"--model.optimization.lr={rate}", "--model.window=2", "--model.ratio=0.5", "--trainer.max_epochs=1"]
        run, config, *_ = read_record(fit(*flags, row="second", runs=tmp_path / trial))
        assert [run[key] for key in ("run_id", "sweep_id", "run_group", "project")] == [trial, "s", "two", "p"]
        assert [config["model"][key] for key in ("optimization_lr", "window", "ratio")] == [rate, 2, 0.5]


def test_a_trial_of_a_sweep_is_one_run(table, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_SWEEP_ID", "s")
    assert main(["fit", "--config", str(table[0])]) == 2
    assert "--row" in capsys.readouterr().err


LONG = {
    "table": "a_table_of_mine_" * 6,
    "scale": "four-frames-" * 7,
    "row": "window_of_two_frames_" * 4,
    "scheme": "größe × 2 " * 9,
}


@pytest.mark.parametrize("changed", [[], ["table"], ["scale"], ["row"], ["scheme"], [*LONG]])
def test_names_of_any_length_are_recorded_and_stay_different(changed, tmp_path):
    def logger(end):
        names = {name: f"{LONG[name]}{end}" if name in changed else name for name in LONG}
        facts = RowFacts(**names, seed=0, params=1, gmacs=1.0, views=1)
        return RowLogger(
            tmp_path, facts, commit=None, config={}, row=Row(names["row"], names["row"], {}, {}), title="t"
        )

    one, other = logger("1"), logger("2")
    for made in (one, other):
        given = made._wandb_init
        settings = wandb.Settings(run_id=given["id"], run_tags=given["tags"], run_group=given["group"])
        assert len(settings.run_tags) == 5
        assert max(map(len, (given["id"], given["name"], given["group"]))) <= 128
        wandb.Artifact(f"model-{given['id']}", type="model")
    differ = [a != b for a, b in zip(one._wandb_init["tags"], other._wandb_init["tags"], strict=True)]
    assert sum(differ) == len(changed)
    if set(changed) & {"table", "scale", "row"}:
        assert one._wandb_init["id"] != other._wandb_init["id"]


def test_a_setting_that_wandb_refuses_is_named(tmp_path, capsys):
    facts = RowFacts(**dict.fromkeys(LONG, "x"), seed=0, params=1, gmacs=1.0, views=1)
    logger = RowLogger(tmp_path, facts, commit=None, config={}, row=Row("x", "x", {}, {}), title="t")
    assert logger.call(lambda: wandb.Settings(run_tags=("y" * 65,))) is None
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "nothing is recorded" in line]
    assert "is 65 characters" in line


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (None, "W&B: sends settings, paths, class names,"),
        ("no API key", "W&B: no API key, recording offline; upload: wandb sync "),
    ],
)
def test_a_run_says_what_it_sends_or_that_nothing_is_sent(reason, said, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setattr("lit_video.engine.wandb_logger.why_offline", lambda: reason)
    facts = RowFacts(**dict.fromkeys(LONG, "x"), seed=0, params=1, gmacs=1.0, views=1)
    RowLogger(tmp_path, facts, commit=None, config={}, row=Row("x", "x", {}, {}), title="t")
    line = capsys.readouterr().out.strip()
    assert line.startswith(said)
    assert ("--trainer.logger false sends nothing" in line) == (reason is None)
