"""A run over broken videos says in its folder which they were, and how many videos its numbers are of."""

import json

import pytest

from lit_video.__main__ import main
from tests.training.broken_copy import broken_copy, listed


@pytest.fixture
def videos(data_root, tmp_path):
    """A folder of 16, 8 and 8 videos; one of train and two of test are broken."""
    return broken_copy(data_root, tmp_path / "videos")


def flags(tiny, videos, *more):
    own = [flag for flag in tiny if "pairs" not in flag]
    return ["--row=first", "--data=VideoFolder", f"--data.root={videos}", *own, "--trainer.logger=false", *more]


def test_broken_videos_are_listed_and_the_result_says_how_many_it_is_of(table, tiny, videos, tmp_path, capsys):
    command = ["fit", "--config", str(table[0]), "--runs", str(tmp_path / "runs")]
    assert main([*command, *flags(tiny, videos, "--data.broken=report")]) == 0
    run_dir = tmp_path / "runs/two/default/first/seed0"
    result = json.loads((run_dir / "result.json").read_text())
    assert (result["test_videos"], result["test_broken"]) == (6, 2)
    rows = listed(run_dir)
    assert sorted(row["split"] for row in rows) == ["test", "test", "train"]
    assert all(row["path"].startswith(str(videos / row["split"])) for row in rows)
    assert all(row["reason"] == "Invalid data found when processing input" for row in rows)
    out = capsys.readouterr().out
    assert out.count("1 train videos could not be read and were left out") == 1
    assert out.count("2 test videos could not be read and were left out") == 1
    assert main(["data", "check", str(videos), "--dataset", "folder", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["data_digest"] == result["data_digest"]


def test_too_many_broken_videos_end_a_run_in_one_line(table, tiny, videos, tmp_path, capsys):
    command = ["fit", "--config", str(table[0]), "--runs", str(tmp_path / "runs")]
    assert main([*command, *flags(tiny, videos, "--data.broken=skip", "--data.broken_percent=5")]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "data.broken_percent: 6.2 % of the train videos cannot be read, more than 5 %; the last: " in line
    assert not list(tmp_path.glob("runs/**/result.json"))
