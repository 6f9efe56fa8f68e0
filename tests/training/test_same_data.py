"""Videos or labels that change under a run's settings: no number of the old ones is taken for one of the new."""

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
