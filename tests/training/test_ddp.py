"""Two processes give what one gives."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lit_video.datamodules import MovingShapes

SCRIPT = Path(__file__).parent / "ddp_script.py"


@pytest.fixture
def seven_videos(data_root, tmp_path):
    """A folder with a test split that no number of processes above one divides."""
    data = MovingShapes(str(data_root), pairs=(2, 1, 1))
    data.prepare_data()
    for split in ("train", "val", "test"):
        for record in data.records(split)[: 7 if split == "test" else None]:
            target = tmp_path / "videos" / record.path.relative_to(data.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(record.path)
    return tmp_path / "videos"


def metrics(*command):
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stdout.splitlines() if line.startswith("METRICS")]
    assert len(lines) == 1
    return json.loads(lines[0].removeprefix("METRICS"))


def test_video_accuracy_of_two_processes_is_that_of_one(seven_videos):
    one, two = metrics(SCRIPT, seven_videos, 1), metrics(SCRIPT, seven_videos, 2)
    assert one["test/videos"] == 7
    assert two == one


def test_a_row_trains_in_two_processes(table, tiny, tmp_path):
    # Lightning starts the second process with this one's command line: the row must expand there too
    flags = [*tiny, "--trainer.devices=2", "--trainer.strategy=ddp", "--trainer.accelerator=cpu", "--row=second"]
    flags += [f"--data.augmentation.{one}" for one in ("policy=timm-v0", "crop=multiscale", "mixup=0.4", "cutmix=1.0")]
    command = ["-m", "lit_video", "fit", "--config", table[0], "--runs", tmp_path / "runs", *flags]
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads((tmp_path / "runs/two/default/second/seed0/result.json").read_text())
    assert result["test_videos"] == 8
    assert result["steps"] == 2 * 16 // 4 // 2
    assert done.stdout.count("test/video_top1") == 1, "one process reports"
