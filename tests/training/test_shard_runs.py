"""A run over shards that is killed and begun again ends with the weights of one that was not."""

import json
import os
import signal
import subprocess
import sys

import pytest
import torch

from lit_video.__main__ import main
from lit_video.datamodules import VideoFolder
from lit_video.datamodules.preparation.shards import Pictures, write_shards
from tests.conftest import ROOT
from tests.training.broken_copy import broken_copy, listed


@pytest.fixture
def flags(table, tiny, data_root, tmp_path):
    """Of a run over shards of a data set of which three videos are broken."""
    videos = broken_copy(data_root, tmp_path / "videos")
    assert write_shards(VideoFolder(str(videos)), tmp_path / "shards", Pictures(videos=7)).shards == 5
    own = [flag for flag in tiny if "pairs" not in flag and "num_workers" not in flag]
    data = ["--data=VideoShards", f"--data.root={tmp_path / 'shards'}", "--data.num_workers=2", "--data.broken=report"]
    data += ["--data.augmentation=vivit-ssv2", "--trainer.logger=false"]
    return ["fit", "--config", str(table[0]), "--row=second", *data, *own]


@pytest.mark.slow
def test_a_killed_run_ends_with_the_same_weights(flags, tmp_path):
    def outcome(runs):
        folder = tmp_path / runs / "two/default/second/seed0"
        result = json.loads((folder / "result.json").read_text())
        return torch.load(folder / "last.ckpt", weights_only=True)["state_dict"], result, listed(folder)

    assert main([*flags, "--runs", str(tmp_path / "whole")]) == 0
    kill = ["--trainer.callbacks=tests.training.faults.SignalAtStep", "--trainer.callbacks.init_args.name=SIGKILL"]
    command = [sys.executable, "-m", "lit_video", *flags, *kill, "--checkpoint_every=0"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    killed = subprocess.run([*command, "--runs", str(tmp_path / "killed")], env=environment, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    last = torch.load(tmp_path / "killed/two/default/second/seed0/last.ckpt", weights_only=True)
    assert last["global_step"] % 4 > 0, "in the middle of an epoch"
    assert main([*flags, "--runs", str(tmp_path / "killed")]) == 0
    (weights, result, broken), (others, other, also) = outcome("whole"), outcome("killed")
    assert all(torch.equal(weights[key], others[key]) for key in weights | others)
    assert result["metrics"] == other["metrics"]
    assert (result["test_videos"], result["test_broken"]) == (6, 2)
    assert broken == also and len(broken) == 3
    assert {row["reason"] for row in broken} == {"Invalid data found when processing input"}
