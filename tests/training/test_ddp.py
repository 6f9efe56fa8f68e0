"""Two processes give what one gives. Starting them takes long, so that each of two launches serves several tests."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from lit_video.datamodules import MovingShapes
from lit_video.modules.metrics import VideoAccuracy
from tests.conftest import ROOT, TINY
from tests.modules.test_video_accuracy import VIDEOS, VIEWS, views
from tests.training.broken_copy import broken_copy, listed
from tests.training.ddp_script import metrics_of

ROW = ["fit", "--config", "experiments/ablation_tw.yaml", "--row=tw1", "--trainer.logger=false"]
ROW += [flag for flag in TINY if "pairs" not in flag and "batch_size" not in flag]
ROW += ["--trainer.devices=2", "--trainer.strategy=ddp", "--trainer.accelerator=cpu", "--data.batch_size=2"]
AUGMENTED = [f"--data.augmentation.{one}" for one in ("policy=timm-v0", "crop=multiscale", "mixup=0.4", "cutmix=1.0")]
RUN = Path("ablation_tw/embedded/tw1/seed0")


def launch(*command):
    return subprocess.run(
        [sys.executable, "-m", *map(str, command)], cwd=ROOT, capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def row(data_root, tmp_path_factory):
    """Flags of a row over 16, 8 and 8 videos; one of train and two of test are broken."""
    return [*ROW, "--data=VideoFolder", f"--data.root={broken_copy(data_root, tmp_path_factory.mktemp('broken'))}"]


def test_a_row_trains_in_two_processes_that_add_up_their_broken_videos(row, tmp_path):
    # Lightning starts the second process with this one's command line: the row must expand there too.
    # Each tests four videos, one of them broken: 1 of 8 for each, 2 of 8 together
    policy = ["--data.broken=skip", "--data.broken_percent=30"]
    done = launch("lit_video", *row, *AUGMENTED, *policy, "--runs", tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    result = json.loads((tmp_path / RUN / "result.json").read_text())
    assert (result["test_videos"], result["test_broken"]) == (6, 2)
    assert result["steps"] == 2 * 16 // 2 // 2
    assert done.stdout.count("test/video_top1") == 1, "one process reports"
    assert sorted(row["split"] for row in listed(tmp_path / RUN)) == ["test", "test", "train"]


@pytest.fixture(scope="module")
def seven_videos(data_root, tmp_path_factory):
    """A folder with a test split that no number of processes above one divides."""
    data = MovingShapes(str(data_root), pairs=(2, 1, 1))
    data.prepare_data()
    folder = tmp_path_factory.mktemp("seven")
    for split in ("train", "val", "test"):
        for record in data.records(split)[: 7 if split == "test" else None]:
            target = folder / record.path.relative_to(data.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(record.path)
    return folder


@dataclass
class Launched:
    """The files of two processes, and what they printed."""

    folder: Path
    done: subprocess.CompletedProcess


@pytest.fixture(scope="module")
def launched(seven_videos, row, tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    return Launched(folder, launch("tests.training.ddp_script", seven_videos, folder, *row))


def test_video_accuracy_of_two_processes_is_that_of_one(launched, seven_videos):
    metrics = json.loads((launched.folder / "metrics.json").read_text())
    assert metrics["test/videos"] == 7
    assert metrics == metrics_of(str(seven_videos), 1)


def test_a_metric_of_two_processes_with_a_padded_last_batch_is_that_of_one(launched):
    assert VIDEOS * VIEWS % 2
    one = VideoAccuracy()
    one.update(*views())
    for rank in range(2):
        stored = torch.load(launched.folder / f"{rank}.pt", weights_only=True)
        assert stored["views"] == VIDEOS * VIEWS + 1
        assert stored["result"] == one.compute()
        assert torch.equal(stored["mean"], one.per_video()[0])


def test_more_broken_videos_than_allowed_end_two_processes_in_a_line(launched):
    printed = launched.done.stderr.partition("NEXT ROW")[0]
    assert (launched.folder / "status").read_text() == "2", printed[-2000:]
    assert "25.0 % of the test videos cannot be read, more than 13 %" in printed
    assert "Traceback" not in printed
    assert not (launched.folder / "skip" / RUN / "result.json").exists()


def test_a_broken_video_ends_two_processes_under_fail(launched):
    printed = launched.done.stderr.partition("NEXT ROW")[2]
    assert launched.done.returncode != 0
    assert "Invalid data found when processing input; fix the video" in printed
    assert not (launched.folder / "fail" / RUN / "result.json").exists()
