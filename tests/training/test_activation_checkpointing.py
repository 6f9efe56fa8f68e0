"""A training goes on with activation checkpointing and without, and no bit of it changes."""

import pytest
import torch

from tests.training.trained import RECIPES, train

CHANGES = [("attention", "block"), ("none", "block"), ("attention", "none")]


@pytest.mark.parametrize(
    ("before", "after"), [CHANGES[0], *(pytest.param(*change, marks=pytest.mark.slow) for change in CHANGES[1:])]
)
def test_a_training_goes_on_with_it_and_without(before, after, table, tiny, tmp_path):
    row = ["--config", str(table[0]), "--row=second", *tiny, "--trainer.logger=false", *RECIPES["drawn"]]
    row += ["--model.ta_layers=1", "--runs", str(tmp_path / "runs")]
    expected = train(row)
    first = train([*row, f"--model.activation_checkpointing={before}"], save_to=tmp_path)
    second = train([*row, f"--model.activation_checkpointing={after}"], resume=tmp_path / "step1.ckpt")
    for run in (first, second):
        assert list(run.weights) == list(expected.weights)
        assert all(torch.equal(run.weights[name], value) for name, value in expected.weights.items())
    assert first.losses == expected.losses
    assert second.losses == expected.losses[1:]
