"""Test that strategies of two processes give the same digits: sharded parameters, processes spawned after a fit."""

import subprocess
import sys

import pytest
import torch

from tests.conftest import ROOT
from tests.embedded import four_skills

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Folder of 16 training, 8 validation and 8 test videos."""
    data = four_skills(tmp_path_factory.mktemp("strategies"))
    data.prepare_data()
    return str(data.root)


def run(script, videos, out):
    """Run a script of this folder in a process of its own: one that has trained must not be forked to train again."""
    command = [sys.executable, "-m", f"tests.training.{script}", videos, str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


def test_sharded_parameters_train_as_whole_copies(videos, tmp_path):
    run("sharded_script", videos, tmp_path)
    (weights, *metrics), (sharded, *others) = (torch.load(tmp_path / f"{name}.pt") for name in ("ddp", "sharded"))
    assert metrics == others
    assert weights.keys() == sharded.keys()
    assert all(torch.equal(weights[key], sharded[key]) for key in weights)


def test_processes_spawned_after_a_fit_train_and_test_as_others(videos, tmp_path):
    run("spawned_script", videos, tmp_path)
    results = torch.load(tmp_path / "spawned.pt")
    (weights, logged, tested), (spawned, others, again) = results["ddp_fork"], results["ddp_spawn"]
    before = results["before"]
    assert any(not torch.equal(weights[key], before[key]) for key in before)
    assert all(torch.equal(weights[key], spawned[key]) for key in weights)
    assert (logged, tested) == (others, again)
    assert tested == pytest.approx(results["alone"], abs=1e-5)
