"""Test the loops of docs/in_python.md under Fabric and accelerate, as typed, in two processes."""

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
# names that the page has from earlier blocks
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


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Folder of 16 training, 8 validation and 8 test videos."""
    data = four_skills(tmp_path_factory.mktemp("loops"))
    data.prepare_data()
    return data.root


# block of the page by what it imports, and the words that start its program in two processes
LAUNCHES = {"Fabric": [], "Accelerator": ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAUNCHES)
def test_two_processes_take_each_video_once_an_epoch(name, videos, tmp_path):
    if name == "Accelerator":
        pytest.importorskip("accelerate", reason="pip install accelerate")
    (block,) = [text for text in PYTHON.findall(IN_PYTHON) if f"import {name}" in text]
    block = block.replace("devices=1", "devices=2").replace('"Ti"', "ViTSize(16, 1, 2)")
    (tmp_path / "train.py").write_text(f"{START}{block}{END}")
    (tmp_path / "videos").symlink_to(videos)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, *LAUNCHES[name], "train.py"]
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]

    parts = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    clips = [tuple(key) for part in parts for key in part["keys"]]
    assert Counter(epoch for epoch, _ in clips) == dict.fromkeys(range(EPOCHS), 16)
    assert len(set(clips)) == EPOCHS * 16
    assert [len(part["keys"]) for part in parts] == [EPOCHS * 8] * 2
    assert parts[0]["weights"] == parts[1]["weights"], "gradients are those of both processes"
