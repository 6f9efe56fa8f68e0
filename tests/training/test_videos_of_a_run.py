"""Test that a run lists its broken videos, and never takes results of other videos or labels for its own."""

import shutil

import pytest

from lit_video.__main__ import main
from lit_video.inference.predict import load
from lit_video.network.multiply_adds import count_params_and_macs
from lit_video.runs.folder import read_finished, remarks
from tests.training.broken_copy import broken_copy, listed

STOP = "--trainer.max_time=00:00:00:00"


@pytest.fixture
def videos(data_root, tmp_path):
    return broken_copy(data_root, tmp_path / "videos")


@pytest.fixture
def fit(table, tiny, videos, tmp_path):
    """Function that runs a row over these videos and returns its exit status and folder."""
    own = [flag for flag in tiny if "pairs" not in flag]
    data = ["--data=VideoFolder", f"--data.root={videos}", "--data.broken=report", "--trainer.logger=false"]
    data += ["--model.positions=none", "--data.test_image_size=32"]
    command = ["fit", "--config", str(table[0]), "--row=first", "--runs", str(tmp_path / "runs"), *data, *own]
    return lambda *flags: (main([*command, *flags]), tmp_path / "runs/two/default/first/seed0")


def relabel(videos, split):
    """Give a video another class."""
    one, other = sorted(folder for folder in (videos / split).iterdir())[:2]
    shutil.move(next(one.iterdir()), other / "moved.mp4")


def test_broken_videos_are_listed_and_a_finished_run_is_not_skipped_for_other_labels(fit, videos, capsys):
    status, run_dir = fit()
    out = capsys.readouterr().out
    assert status == 0
    run = read_finished(run_dir)
    assert (run.result.test_videos, run.result.test_broken) == (6, 2)
    assert run.result.gmacs == pytest.approx(count_params_and_macs(load(run_dir).model, 4, 32)[1] / 1e9), (
        "of a view of the test"
    )
    assert " on 6 videos, 2 test videos left out, " in out
    rows = listed(run_dir)
    assert sorted(row["split"] for row in rows) == ["test", "test", "train"]
    assert all(row["path"].startswith(str(videos / row["split"])) for row in rows)
    assert all(row["reason"] == "Invalid data found when processing input" for row in rows)
    assert out.count("1 train videos could not be used and were left out") == 1
    assert out.count("2 test videos could not be used and were left out") == 1
    assert main(["data", "check", str(videos), "--dataset", "VideoFolder"]) == 1
    assert f"data digest  {run.identity.data} " in capsys.readouterr().out
    assert fit()[0] == 0
    assert "finished, skipped" in capsys.readouterr().out
    relabel(videos, "test")
    assert fit()[0] == 2
    said = capsys.readouterr()
    assert f"{run_dir} is another run: data was {run.identity.data}, now it is " in said.err
    assert "finished, skipped" not in said.out


@pytest.mark.slow
def test_a_training_that_goes_on_says_if_its_videos_have_changed_and_so_does_its_result(fit, videos, capsys):
    """Stop and go on; runs that go on with the same videos have no change, see test_resumption.py."""
    assert fit(STOP)[0] == 75
    relabel(videos, "train")
    capsys.readouterr()
    status, run_dir = fit()
    assert status == 0
    run = read_finished(run_dir)
    (change,) = run.changes
    assert (change.key, change.now) == ("data", run.identity.data)
    assert change.was != change.now and "data changed during the training" in remarks(run)
    assert f"{run_dir}: data was {change.was}, now it is {change.now}" in capsys.readouterr().out
