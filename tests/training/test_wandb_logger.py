"""What a run records for W&B, read back from its offline record; every name in a dashboard is one of these."""

import csv
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from PIL import Image

from lit_video.__main__ import main
from lit_video.reports.wandb import keys_of, panels
from lit_video.tables.flat_settings import flat_row, flat_settings
from lit_video.tables.reading import read_table
from lit_video.tables.run_files import run_file
from lit_video.training.wandb_logger import RowLogger, wandb_media
from tests.tables.experiments import OWN, PAPERS, request_of, resolved
from tests.tables.test_committed_results import RESULTS, RUNS
from tests.training.test_wandb_record import cores, parts, records

VIDEOS = {"avletters", "avletters_length"}  # tables of videos that are not in the repository
TABLES = [path for path in (*PAPERS, *OWN) if path.stem != "room_actions"]  # which varies what avletters varies


@dataclass
class Record:
    """Config, history keys, summary and media files of an offline run."""

    config: dict
    history: set
    summary: dict
    tables: dict
    folder: Path
    run: dict


def read_record(run_dir):
    (path,) = run_dir.glob("wandb/offline-run-*/*.wandb")
    record = Record({}, set(), {}, {}, path.parent, {})
    for line in records(path):
        content = line.get(line["type"], {})
        if line["type"] == "run":
            record.run = content
        elif line["type"] == "config":
            record.config |= content["update"]
        elif line["type"] == "history":
            record.history |= content["item"].keys()
        elif line["type"] == "summary":
            record.summary |= content.get("update", {})
    media = path.parent / "files" / "media" / "table"
    for file in media.rglob("*.table.json"):
        name = str(file.relative_to(media)).rpartition("_")[0].rpartition("_")[0]
        record.tables[name] = json.loads(file.read_text())
    return record


@pytest.mark.pictures
def test_a_run_has_what_dashboards_read(finished, table):
    record = read_record(finished)
    check_facts(record, finished)
    check_keys_of_panels(record, read_table([table[0]]))
    check_test_results(record, finished)


def check_facts(record, run_dir):
    result = json.loads((run_dir / "result.json").read_text())
    expected = {key: result[key] for key in ("table", "row", "scale", "seed", "commit", "params", "views", "scheme")}
    assert expected == {key: record.config[key] for key in expected}
    assert record.config["gmacs"] == pytest.approx(result["gmacs"])
    assert (record.config["scheme"], record.config["window"], record.config["frames"]) == ("X-ViT", 1, 4)
    assert (record.config["size_width"], record.config["mixed"]) == (16, "key,value"), "not Lightning's of that name"
    assert record.config["cli"]["model"]["init_args"]["mixed"] == ["key", "value"]
    assert (record.run["run_group"], record.run["display_name"]) == ("two", "second")
    assert record.run["tags"] == ["two", "default", "second", "X-ViT", "seed0"]
    assert record.summary["paper/test/video_top1"] == 62.5
    assert record.config["views"] == 3, "the number of views, not the data set's way to cut them"
    assert {"train/loss", "train/data_wait", "val/clip_top1", "test/video_top1"} <= record.history
    for key, value in result["metrics"].items():
        assert record.summary[key] == pytest.approx(value)


def check_keys_of_panels(record, table):
    logged = {"config": record.config.keys(), "history": record.history}
    logged["summary"] = record.summary.keys()
    logged["media"] = {key.removesuffix("._type") for key in record.history if key.startswith("figures/")}
    logged["media"] |= {"test/classes"} & record.tables.keys()
    names = {
        key for by in ("scheme", "row") for some in panels([table], by).values() for p in some for key in keys_of(p)
    }
    assert len(names) > 20
    for kind, key in (name.split(" ", 1) for name in names):
        assert key in logged[kind], f"no {kind} {key} is logged"


def check_test_results(record, run_dir):
    for name in ("confusion", "calibration", "attention"):
        (copy,) = (record.folder / "files/media/images/figures").glob(f"{name}_*.png")
        assert copy.read_bytes() == (run_dir / f"{name}.png").read_bytes()
    with (run_dir / "classes.csv").open() as file:
        rows = list(csv.DictReader(file))
    logged = record.tables["test/classes"]
    assert logged["columns"] == ["task", "class", "videos", "top1", "top5"]
    assert [row["class"] for row in rows] == [row[1] for row in logged["data"]]
    assert [[float(row[key]) for key in logged["columns"][2:]] for row in rows] == [r[2:] for r in logged["data"]]


def test_every_task_has_its_own_figures_and_a_run_that_kept_none_has_none(tmp_path):
    assert wandb_media(tmp_path) == {}
    for name in ("confusion_verb", "confusion_noun", "calibration_verb", "other"):
        Image.new("RGB", (5, 4)).save(tmp_path / f"{name}.png")
    expected = {"figures/confusion_verb", "figures/confusion_noun", "figures/calibration_verb"}
    assert wandb_media(tmp_path).keys() == expected


def test_what_tables_vary_is_a_flat_key_of_their_runs(letters):
    left = {name for path in TABLES for row in read_table([path]).rows for name in row.settings}
    assert len(left) > 20
    for path in TABLES:
        flags = (f"--data.root={letters}",) if path.stem in VIDEOS else ()
        table = request_of(path, flags=flags).table
        for row in table.rows:
            if left & row.settings.keys():
                left -= row.settings.keys()
                run = RESULTS / path.stem / table.scale / row.name / "seed0"
                kept = run_file(run, "config.yaml") if run in RUNS else None
                config = yaml.load(kept, yaml.CSafeLoader) if kept else resolved(row.name, path, flags=flags).settings
                flat = flat_settings(config)
                for name, value in row.settings.items():
                    for key, plain in flat_row({name: value}).items():
                        assert flat[key] == plain, (path, row.name, name)
    assert not left


def test_a_resumed_run_goes_on_after_the_rows_of_its_first_part(finished, table, tiny):
    (finished / "result.json").unlink()
    assert main(["fit", "--config", str(table[0]), "--row", "second", "--runs", str(finished.parents[3]), *tiny]) == 0
    first, second = parts(finished)
    assert [row["_step"] for row in first + second] == [*range(len(first) + len(second))]
    reached = max(row.get("trainer/global_step", 0) for row in first)
    assert all(row.get("trainer/global_step", reached) >= reached for row in second)


def test_a_run_without_wandb_keeps_its_result(table, tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wandb", None)  # any import of it fails
    flags = [*tiny, "--trainer.max_epochs=1"]
    assert main(["fit", "--config", str(table[0]), "--row", "first", "--runs", str(tmp_path), *flags]) == 0
    assert (tmp_path / "two/default/first/seed0/result.json").exists()
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "W&B" in line]
    assert "import of wandb halted" in line and "this run is not recorded there" in line


def test_a_run_whose_wandb_dies_keeps_its_result(table, tiny, tmp_path, monkeypatch, capfd):
    def begin_and_die(self, begin=RowLogger.begin):
        begin(self)
        (pid,) = cores()
        os.kill(pid, signal.SIGKILL)

    monkeypatch.setattr(RowLogger, "begin", begin_and_die)
    flags = [*tiny, "--trainer.max_epochs=1"]
    assert main(["fit", "--config", str(table[0]), "--row", "first", "--runs", str(tmp_path), *flags]) == 0
    assert (tmp_path / "two/default/first/seed0/result.json").exists()
    captured = capfd.readouterr()
    assert captured.out.count("W&B: its process died at step ") == 1
    assert captured.err == ""
