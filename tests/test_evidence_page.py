"""Test docs/evidence.md, and how verdicts and times of version 2 are read."""

import io
import json
import sys
import tarfile
from runpy import run_path

import pytest

from benchmarks.version2 import time_of, verdicts_of
from tests.conftest import ROOT

BEFORE = json.loads((ROOT / "benchmarks/results/version2.json").read_text(encoding="utf-8"))
TODAY = verdicts_of((ROOT / "REPRODUCE.md").read_text(encoding="utf-8"))


@pytest.fixture
def script(monkeypatch):
    folder = ROOT / "docs/scripts"
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    return run_path(str(folder / "evidence_page.py"))


def test_verdicts_are_read_with_and_without_numbers_and_links():
    page = """
Prose ends with a full stop. | A line of it, too.
|claim|verdict|follow-ups|
|---|---|---|
|[More is better.](docs/results/xvit.md#a)|contradicted ± 2.9|avletters: undecided ± 2.0|
|7|[Less is enough.](docs/results/xvit.md#b)|supported (80 % power 2.8)|utd_mhad: undecided|
|8|Nothing helps.|undecided; alike at embedded|
"""
    expected = {"More is better.": "contradicted", "Less is enough.": "supported", "Nothing helps.": "undecided"}
    assert verdicts_of(page) == expected


def pack(runs):
    """Return a pack with the results of runs by their folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as archive:
        for folder, result in runs.items():
            content = json.dumps({"result": result}).encode()
            member = tarfile.TarInfo(f"table/{folder}/run.json")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def test_the_time_of_a_table_is_the_sum_over_its_rows_of_their_mean_over_seeds():
    runs = {
        "embedded/a/seed0": {"row": "a", "steps": 8, "seconds": 1800},
        "embedded/a/seed1": {"row": "a", "steps": 8, "seconds": 5400},
        "embedded/b/seed0": {"row": "b", "steps": 16, "seconds": 1800},
        "profile/b/seed0": {"row": "b", "steps": 32, "seconds": 360_000},
    }
    assert time_of(pack(runs)) == {"rows": 2, "steps": [8, 16], "hours": 1.5}
    assert time_of(pack({"profile/b/seed0": runs["profile/b/seed0"]})) is None


def test_every_claim_of_version_2_has_its_claim_of_today(script):
    reworded = script["REWORDED"]
    assert set(reworded) <= set(BEFORE["verdicts"])
    assert not set(reworded) & set(TODAY)
    today = [reworded.get(sentence, sentence) for sentence in BEFORE["verdicts"]]
    assert set(today) <= set(TODAY)
    assert len(set(today)) == len(today)


def test_a_table_that_differs_from_version_2_says_how_many_rows_its_hours_are_of(script):
    tables = {table.name: table for table in script["left_out"](script["evidence"].read_plan(script["evidence"].PLAN))}
    layers = tables["ablation_layers"]
    rows = len(layers.rows)
    measured = {"rows": rows, "steps": [768], "hours": 0.5}
    table = script["not_run_table"]([layers], {"ablation_layers": measured}, TODAY)
    assert f"| {rows} | 768 | 1.5 |" in table
    fewer = script["not_run_table"]([layers], {"ablation_layers": measured | {"rows": rows - 1}}, TODAY)
    assert f"1.5 for {rows - 1} of them" in fewer
    assert "not measured" in script["not_run_table"]([layers], {}, TODAY)


def test_reasons_that_claims_share_are_said_once(script):
    today = {
        "A.": "not testable here: no such videos",
        "B.": "supported",
        "C.": "not testable here: no such videos",
        "D.": "not run",
    }
    assert script["cannot_decide"](list(today), today) == "1, 3: no such videos"
