"""Test that a function which trains or tests gives the caller's process back as it was."""

import os
import random

import numpy as np
import pytest
import torch

import lit_video
from lit_video.experiment.cli import VideoCLI
from tests.api.test_functions import TINY


@pytest.fixture
def shared(monkeypatch):
    """Function that returns the state of the process; the caller has settings of its own."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    monkeypatch.setenv("WANDB_DATA_DIR", "/my/own")
    monkeypatch.setenv("PL_GLOBAL_SEED", "11")
    torch.set_float32_matmul_precision("medium")

    def state():
        numbers = torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()
        products = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
        return dict(os.environ), numbers, products

    yield state
    torch.set_float32_matmul_precision("highest")


def fail(table, run, root, out):
    """Ask for a step of more clips than there are."""
    with pytest.raises(lit_video.UserError, match="batch_size"):
        lit_video.fit(table, rows="first", settings=TINY | {"data": TINY["data"] | {"batch_size": 10**6}}, runs=out)


CALLS = {
    "fit": lambda table, run, root, out: lit_video.fit(
        table, rows="first", settings=TINY | {"float32_products": "tf32", "trainer.logger": True}, runs=out
    ),
    "a mistake": fail,
    "settings of rows": lambda table, *_: lit_video.row_settings(table, settings=TINY),
    "test": lambda table, run, root, out: lit_video.test(
        run, settings={"data": {"root": root, "num_workers": 0}, "trainer.accelerator": "cpu"}
    ),
}


@pytest.mark.wandb
@pytest.mark.parametrize("name", CALLS)
def test_a_call_leaves_the_process_as_it_was(name, table, run, root, tiny, tmp_path, shared):
    before = shared()
    CALLS[name](table[0], run, root, tmp_path)
    for was, now in zip(before, shared(), strict=True):
        assert was == now


def test_a_model_is_drawn_from_the_seed_of_its_settings(table):
    (settings, *_) = lit_video.row_settings(table[0], settings=TINY).values()
    models = []
    for seed in (0, 0, 1):
        torch.rand(3)
        models.append(VideoCLI(settings | {"seed_everything": seed}).build().model)
    weights = [torch.cat([parameter.flatten() for parameter in model.parameters()]) for model in models]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
