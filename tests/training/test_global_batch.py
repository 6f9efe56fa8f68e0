"""Test that --global_batch sets the accumulation and refuses what does not divide, and that every step is whole."""

import pytest
import torch

from lit_video.__main__ import main
from lit_video.engine.global_batch import accumulation
from lit_video.errors import UserError
from lit_video.runs.folder import read_finished
from tests.training.trained import train


@pytest.mark.parametrize(
    ("settings", "batches"),
    [((None, 8, 16), 1), ((None, 8, 16, 4), 4), ((128, 8, 16), 1), ((128, 1, 8), 16), ((96, 3, 4), 8), ((5, 5, 1), 1)],
)
def test_accumulation_makes_the_global_batch(settings, batches):
    global_batch, devices, batch_size, *accumulate = settings
    others = {"accumulate": accumulate[0]} if accumulate else {}
    assert accumulation(global_batch, devices=devices, batch_size=batch_size, **others) == batches


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--global_batch=6"],
            "global_batch: 6 does not divide into 1 devices x data.batch_size 4; take",
        ),
        (["--global_batch=32"], "data.batch_size: a step takes 32 clips (4 x 1 processes x 8 batches), there are 16"),
        (["--global_batch=8", "--trainer.accumulate_grad_batches=2"], "batches is 2, but global_batch determines it"),
        (["--trainer.strategy=fsdp"], "trainer.strategy: fsdp shards the model, and does not resume exactly; use ddp"),
    ],
)
def test_mistakes_end_in_a_line(flags, message, table, tiny, tmp_path, capsys):
    command = ["fit", "--config", str(table[0]), "--row=second", "--runs", str(tmp_path), "--trainer.logger=false"]
    assert main([*command, *tiny, *flags]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert message in line


def test_it_is_a_key_of_an_experiment_and_the_product_is_in_the_result(table, tiny, tmp_path, capsys):
    path = table[1]("table:\n", "global_batch: 12\ntable:\n")
    command = ["fit", "--config", str(path), "--row=second", "--runs", str(tmp_path / "runs"), "--trainer.logger=false"]
    assert main([*command, *tiny]) == 0
    result = read_finished(next((tmp_path / "runs").rglob("run.json")).parent).result
    assert (result.global_batch, result.steps) == (12, 2), "16 videos fill one step of 12 in each of two epochs"
    assert main([*command, *tiny, "--global_batch=8"]) == 2
    assert "global_batch was 12, now it is 8" in capsys.readouterr().err


def test_a_step_is_whole_where_batches_accumulate_without_a_global_batch(table, tiny, tmp_path):
    row = ["--config", str(table[0]), "--row=second", *tiny, "--trainer.logger=false"]
    run = train([*row, "--data.batch_size=3", "--trainer.accumulate_grad_batches=2", "--runs", str(tmp_path)])
    assert run.steps == 4, "5 batches of 3 are two whole steps; the fifth would be half a step"
    assert len(run.losses) == 4


def test_a_step_that_a_checkpoint_lies_inside_of_starts_over(table, tiny, tmp_path):
    row = ["--config", str(table[0]), "--row=second", *tiny, "--trainer.logger=false", "--global_batch=8"]
    whole = train([*row, "--runs", str(tmp_path / "a")], save_to=tmp_path)
    run = train([*row, "--runs", str(tmp_path / "b")], resume=tmp_path / "step2-inside.ckpt")
    assert (run.steps, run.losses) == (4, whole.losses[2:])
    assert all(torch.equal(run.weights[name], value) for name, value in whole.weights.items())


def test_another_global_batch_is_not_taken_for_the_checkpoints(table, tiny, tmp_path):
    row = ["--config", str(table[0]), "--row=second", *tiny, "--trainer.logger=false", "--trainer.max_epochs=1"]
    train([*row, "--runs", str(tmp_path / "a")], save_to=tmp_path)
    with pytest.raises(UserError, match=r"steps took 4 clips, now they take 8 \(1 devices x 4 x 2 batches\)"):
        train([*row, "--global_batch=8", "--runs", str(tmp_path / "b")], resume=tmp_path / "step2.ckpt")
