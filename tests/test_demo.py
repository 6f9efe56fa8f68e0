"""Test the demo as users run it; it takes minutes (make test-slow)."""

import subprocess
import sys
from pathlib import Path

import pytest

from lit_video.tables.finishing import end_of
from lit_video.tables.reading import read_table
from lit_video.tables.summary import read_runs
from tests.fake_runs import EXPERIMENTS

DEMO = EXPERIMENTS / "demo.yaml"


def test_make_demo_runs_this_table():
    assert f"TABLE ?= experiments/{DEMO.name}" in (EXPERIMENTS.parent / "Makefile").read_text()


@pytest.mark.slow
def test_the_demo_shows_what_two_schemes_read_of_time(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path / "data"))
    command = [sys.executable, "-m", "lit_video", "fit", "--config", str(DEMO)]
    subprocess.run([*command, "--runs", str(tmp_path), "--jobs", "2"], check=True)
    read = read_runs(read_table([DEMO]), Path(tmp_path))
    told = {name: run.result.metrics["test/direction"] for name, (run,) in read.by_row.items()}
    for scheme, control in (("xvit1", "control_xvit"), ("divided", "control_timesformer")):
        assert 40 <= told[control] <= 60, "the control knows when each frame is, but compares none"
        assert told[scheme] >= told[control] + 25
        (run,) = read.by_row[scheme]
        assert not end_of(run, None, run.result.told).not_begun
