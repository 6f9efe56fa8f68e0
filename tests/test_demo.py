"""Test the demo as users run it; it takes minutes (make test-slow)."""

import subprocess
import sys

import pytest

from lit_video.runs.finished import read_finished


@pytest.mark.slow
def test_the_demo_shows_what_a_window_is_worth(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path / "data"))
    command = [sys.executable, "-m", "lit_video", "fit", "--config", "experiments/ablation_tw.yaml"]
    subprocess.run([*command, "--runs", str(tmp_path), "--jobs", "2"], check=True)
    rows = ("tw0", "tw1", "tw2", "tw2_boundary")
    results = [read_finished(tmp_path / f"ablation_tw/embedded/{r}/seed0").result for r in rows]
    told = {row: result.metrics["test/direction"] for row, result in zip(rows, results, strict=True)}
    assert 44 <= told["tw0"] <= 56, "the control knows when each frame is, but compares none"
    assert told["tw1"] >= told["tw0"] + 25
    assert len({result.params for result in results}) == len({result.gmacs for result in results}) == 1
