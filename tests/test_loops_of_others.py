"""Test the loops of docs/in_python.md under Fabric and accelerate, as typed, in one process and in two."""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.conftest import ROOT
from tests.embedded import four_skills
from tests.test_python_pages import IN_PYTHON, PYTHON

EPOCHS = 2
# what the page takes from earlier blocks
START = """
import json
import os
from pathlib import Path

import torch
from lit_video.datamodules import VideoFolder
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization, make_optimizer
from lit_video.network.vit import ViTSize

torch.set_num_threads(1)
torch.manual_seed(0)
data = VideoFolder("videos", num_frames=4, image_size=32, batch_size=2, num_workers=0)
model = XViT(data.num_classes, 4, 32, size=ViTSize(16, 1, 2), optimization=Optimization("adamw", lr=1e-3))
keys = []
augment = data.augment
data.augment = lambda raw: keys.append(raw["key"].tolist()) or augment(raw)
"""
END = """
weights = torch.cat([parameter.flatten() for parameter in model.parameters()])
rank = os.environ.get("RANK") or os.environ.get("LOCAL_RANK", "0")
Path(f"{rank}.json").write_text(json.dumps({"keys": sum(keys, []), "weights": weights.tolist()}))
"""
MODULES = {"Fabric": "lightning", "Accelerator": "accelerate"}


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Folder of 16 training, 8 validation and 8 test videos."""
    data = four_skills(tmp_path_factory.mktemp("loops"))
    data.prepare_data()
    return data.root


def script(name, processes):
    """Return the block of the page as a program that writes down which clips each process has taken."""
    (block,) = [text for text in PYTHON.findall(IN_PYTHON) if f"import {name}" in text]
    assert f"range({EPOCHS})" in block
    assert processes == 1 or name == "Accelerator" or "devices=1" in block
    block = block.replace("devices=1", f"devices={processes}").replace('"Ti"', "ViTSize(16, 1, 2)")
    return f"{START}{block}{END}"


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODULES)
def test_each_video_is_taken_once_an_epoch(name, processes, videos, tmp_path):
    pytest.importorskip(MODULES[name], reason="pip install accelerate; .ci/run has it")
    (tmp_path / "videos").symlink_to(videos)
    (tmp_path / "train.py").write_text(script(name, processes))
    command = [sys.executable, "train.py"]
    if name == "Accelerator":
        launch = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", str(processes)]
        command = [*launch, "train.py"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]

    parts = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(processes)]
    clips = [tuple(key) for part in parts for key in part["keys"]]
    assert Counter(epoch for epoch, _ in clips) == dict.fromkeys(range(EPOCHS), 16)
    assert len(set(clips)) == EPOCHS * 16
    assert {len(part["keys"]) for part in parts} == {EPOCHS * 16 // processes}
    assert all(part["weights"] == parts[0]["weights"] for part in parts), "gradients are those of all processes"
