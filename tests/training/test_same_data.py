"""Videos or labels that change under a run's settings: no number of the old ones is taken for one of the new."""

import json
import shutil

import pytest

from lit_video.__main__ import main
from tests.training.broken_copy import broken_copy


@pytest.fixture
def videos(data_root, tmp_path):
    return broken_copy(data_root, tmp_path / "videos")


@pytest.fixture
def fit(table, tiny, videos, tmp_path):
    """A run over these videos: its exit status and its folder."""
    own = [flag for flag in tiny if "pairs" not in flag]
    data = ["--data=VideoFolder", f"--data.root={videos}", "--data.broken=report", "--trainer.logger=false"]
    command = ["fit", "--config", str(table[0]), "--row=first", "--runs", str(tmp_path / "runs"), *data, *own]
    return lambda *flags: (main([*command, *flags]), tmp_path / "runs/two/default/first/seed0")


def relabel(videos, split):
    """Give a video another class."""
    one, other = sorted(folder for folder in (videos / split).iterdir())[:2]
    shutil.move(next(one.iterdir()), other / "moved.mp4")


def test_a_finished_run_is_not_skipped_for_other_labels(fit, videos, capsys):
    assert fit()[0] == 0
    capsys.readouterr()
    assert fit()[0] == 0
    assert "finished, skipped" in capsys.readouterr().out
    relabel(videos, "test")
    assert fit()[0] == 2
    said = capsys.readouterr()
    assert "result.json was measured on other videos or labels (data_digest " in said.err
    assert "finished, skipped" not in said.out


def test_a_training_that_goes_on_with_other_labels_says_so_and_so_does_its_result(fit, videos, capsys):
    assert fit("--trainer.max_time=00:00:00:00")[0] == 75
    relabel(videos, "train")
    capsys.readouterr()
    status, run_dir = fit()
    assert status == 0
    result = json.loads((run_dir / "result.json").read_text())
    (change,) = result["changes"]
    assert (change["key"], change["to"]) == ("data_digest", result["data_digest"])
    assert change["from"] != change["to"]
    assert f"{run_dir}: data_digest was {change['from']}, from here on {change['to']}" in capsys.readouterr().out


def test_a_run_of_other_labels_is_not_reused(fit, table, videos, monkeypatch, capsys):
    monkeypatch.setattr("lit_video.training.run.commit", lambda: "0123456789ab")
    other = table[0].with_name("other.yaml")
    shutil.copy(table[0], other)
    assert fit()[0] == 0
    relabel(videos, "test")
    capsys.readouterr()
    assert fit("--config", str(other), "--reuse", "--trainer.max_time=00:00:00:00")[0] == 75
    assert "the same run as" not in capsys.readouterr().out


def test_a_training_that_goes_on_with_the_same_videos_has_no_changes(fit):
    assert fit("--trainer.max_time=00:00:00:00")[0] == 75
    status, run_dir = fit()
    assert status == 0
    assert json.loads((run_dir / "result.json").read_text())["changes"] == []
