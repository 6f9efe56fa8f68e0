"""Test the tables of docs/skills.md with fake runs."""

import sys
from runpy import run_path

import numpy as np
import pytest

from lit_video.runs.predictions import Draws, save_logits
from lit_video.tables.reading import read_table
from lit_video.tables.summary import read_runs
from tests.conftest import ROOT
from tests.fake_runs import EXPERIMENTS, change_result, recorded, write_result

FILES = [EXPERIMENTS / "skills.yaml", EXPERIMENTS / "scale/profile.yaml"]
CLASSES = ["drift right", "drift left", "zoom in", "zoom out"]
OPPOSITES = {"drift": (0, 1), "zoom": (2, 3)}
PAIRS = 40


@pytest.fixture
def script(monkeypatch):
    folder = ROOT / "docs/scripts"
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    return run_path(str(folder / "skills_page.py"))


def write(runs, row, seed, *, drift, zoom, trained):
    """Write a run that has the direction right in this share of the pairs of each skill."""
    table = read_table(FILES)
    folder = runs / "skills/profile" / row / f"seed{seed}"
    folder.mkdir(parents=True)
    target = np.tile(np.arange(4), PAIRS)
    pair = np.repeat(np.arange(PAIRS), 4) * 2 + target // 2
    right = np.repeat(np.arange(PAIRS), 4) < PAIRS * np.where(target < 2, drift, zoom)
    logits = np.eye(4)[np.where(right, target, target ^ 1)]
    opposite = np.array([1, 0, 3, 2])
    tasks = {"": (logits, target, CLASSES)}
    found = save_logits(folder, np.arange(len(target)), tasks, opposite=opposite, draws=Draws("pair", pair))
    metrics = {f"test/direction/{name}": 100 * share for name, share in (("drift", drift), ("zoom", zoom))}
    top1 = 100 * float(found.tasks[""].hits().mean())
    metrics |= {"test/video_top1": top1, "test/direction": top1, "test/recognised": 100.0, "train/video_top1": trained}
    facts = {"table": "skills", "scale": "profile", "row": row, "seed": seed, "gmacs": 1.0, "test_videos": len(target)}
    write_result(folder, **facts, metrics=metrics)
    settings = recorded(table.settings | table.row(row).settings)
    change_result(folder, identity={"settings": settings})


def cells(table, *beginning):
    (line,) = (line for line in table.splitlines() if line.startswith(f"| {' | '.join(beginning)} |"))
    return [cell.strip() for cell in line.strip("| ").split("|")]


def test_a_scheme_stands_beside_its_control(script, tmp_path):
    for seed in (0, 1):
        write(tmp_path, "control_xvit", seed, drift=0.5, zoom=0.5, trained=99.0)
        write(tmp_path, "xvit1", seed, drift=1.0, zoom=0.5, trained=99.0)
    runs = read_runs(read_table(FILES), tmp_path)
    shown = cells(script["by_length"](runs), "X-ViT, t_w = 1")
    assert shown[1:6] == ["2", "99.0", "75.0", "100.0", "75.0"]
    assert shown[6].startswith("+25.0 [+")
    assert cells(script["by_length"](runs), "TimeSformer T+S")[1:] == ["0", "-", "-", "-", "-", "-"]
    by_skill = script["by_skill"](runs, OPPOSITES)
    assert cells(by_skill, "skill")[1:3] == ["control: X-ViT, t_w = 0", "X-ViT, t_w = 1"]
    assert cells(by_skill, "drift")[1] == cells(by_skill, "zoom")[1] == "50.0"
    assert cells(by_skill, "drift")[2].startswith("**+50.0 ± ")
    assert cells(by_skill, "zoom")[2].startswith("+0.0 ± ")


def test_a_row_that_ends_before_it_has_learned_is_marked(script, tmp_path):
    write(tmp_path, "control_xvit", 0, drift=0.5, zoom=0.5, trained=99.0)
    write(tmp_path, "xvit1", 0, drift=1.0, zoom=0.5, trained=60.0)
    runs = read_runs(read_table(FILES), tmp_path)
    shown = cells(script["by_length"](runs), "X-ViT, t_w = 1")
    assert shown[2] == "60.0*" and shown[6].endswith("]*")
    assert cells(script["by_skill"](runs, OPPOSITES), "skill")[2] == "X-ViT, t_w = 1*"


def test_without_runs_there_are_no_numbers(script, tmp_path):
    runs = read_runs(read_table(FILES), tmp_path)
    assert script["by_length"](runs) == script["by_skill"](runs, OPPOSITES) == script["NOT_RUN"]


def test_every_scheme_of_the_plan_has_its_control(script):
    names = [row.name for row in read_table(FILES).rows]
    assert set(script["ROWS"]) <= set(names)
    for row, control in script["CONTROLS"].items():
        assert control.startswith("control_") and not row.startswith("control_")
