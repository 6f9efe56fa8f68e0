"""A run over broken videos says in its folder which they were, and how many videos its numbers are of."""

import csv
import json
import subprocess
import sys

import pytest

from lit_video.__main__ import main
from lit_video.datamodules import MovingShapes


@pytest.fixture
def videos(data_root, tmp_path):
    """A folder of 16, 8 and 8 videos; one of train and two of test are broken."""
    data = MovingShapes(str(data_root), pairs=(2, 1, 1))
    data.prepare_data()
    for split in ("train", "val", "test"):
        for i, record in enumerate(data.records(split)):
            target = tmp_path / "videos" / record.path.relative_to(data.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            if (split, i) in {("train", 3), ("test", 0), ("test", 5)}:
                target.write_bytes(record.path.read_bytes()[:1000])
            else:
                target.symlink_to(record.path)
    return tmp_path / "videos"


def flags(tiny, videos, *more):
    own = [flag for flag in tiny if "pairs" not in flag]
    return ["--row=first", "--data=VideoFolder", f"--data.root={videos}", *own, "--trainer.logger=false", *more]


def listed(run_dir):
    with (run_dir / "broken.csv").open() as file:
        return list(csv.DictReader(file))


def test_broken_videos_are_listed_and_the_result_tells_how_many_it_is_of(table, tiny, videos, tmp_path, capsys):
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


@pytest.mark.parametrize(("percent", "status"), [(30, 0), (13, 2)])
def test_two_processes_add_up_what_each_has_met(table, tiny, videos, tmp_path, percent, status):
    # each process tests four videos, one of them broken: 1 of 8 for each, 2 of 8 together
    more = ["--trainer.devices=2", "--trainer.strategy=ddp", "--trainer.accelerator=cpu", "--data.batch_size=2"]
    more += ["--data.broken=skip", f"--data.broken_percent={percent}"]
    command = ["-m", "lit_video", "fit", "--config", table[0], "--runs", tmp_path / "runs"]
    command += flags(tiny, videos, *more)
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300)
    run_dir = tmp_path / "runs/two/default/first/seed0"
    assert (done.returncode == 0) == (status == 0), done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    if status:
        assert "25.0 % of the test videos cannot be read, more than 13 %" in done.stderr
        assert not (run_dir / "result.json").exists()
    else:
        result = json.loads((run_dir / "result.json").read_text())
        assert (result["test_videos"], result["test_broken"]) == (6, 2)
        assert sorted(row["split"] for row in listed(run_dir)) == ["test", "test", "train"]


def test_a_broken_video_ends_two_processes_under_fail(table, tiny, videos, tmp_path):
    more = ["--trainer.devices=2", "--trainer.strategy=ddp", "--trainer.accelerator=cpu", "--data.batch_size=2"]
    command = ["-m", "lit_video", "fit", "--config", table[0], "--runs", tmp_path / "runs"]
    command += flags(tiny, videos, *more)
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    assert "Invalid data found when processing input; mend the video" in done.stderr
