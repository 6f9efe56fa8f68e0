"""Test that two processes with unequal validation loaders of the user's own train to the end, and stop together."""

import json
import subprocess
import sys

import pytest
from torch.utils.data import DataLoader

from lit_video.engine.checkpoints import certain_batches
from tests.conftest import ROOT
from tests.training.uneven_script import LOADERS, SIGNALS, STEPS, Own, Stream


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Step and error of each case, trained by a script in a process of its own."""
    out = tmp_path_factory.mktemp("uneven")
    command = [sys.executable, "-m", "tests.training.uneven_script", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads((out / "outcomes.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", LOADERS)
def test_unequal_validation_loaders_end(name, outcomes):
    assert outcomes[name] == {"step": STEPS, "error": ""}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_to_one_process_stops_both(name, outcomes):
    _, _, step = SIGNALS[name]
    assert f"stopped by SIGTERM at step {step} of {STEPS}" in outcomes[name]["error"]
    assert outcomes[name]["step"] == step


def test_the_length_of_a_stream_is_no_certain_number_of_batches():
    loaders = [DataLoader(Own(5)), DataLoader(Stream(5)), [1, 2, 3], iter([1])]
    assert certain_batches(loaders, [4, 5, 3, float("inf")]) == [4, 0, 3, 0]
