"""What a sweep would take is counted from the rows' own settings."""

import re

import pytest

from lit_video.__main__ import main
from lit_video.benchmark.sweep_estimate import START, RowEstimate
from lit_video.costs.scaling import Model


def estimate(**changes):
    settings = dict(
        label="row",
        macs=10**9,
        train_videos=1000,
        validations=0,
        val_videos=50,
        test_views=100,
        steps=500,
        batch=10,
        workers=4,
        step=Model(0, 0, 0, clip_seconds=0.003, least_seconds=0.02),
        first_clip=0.01,
        kept_clip=0.002,
    )
    return RowEstimate(**settings | changes)


def test_a_step_takes_the_longest_of_products_operators_and_clips():
    assert estimate().compute == pytest.approx(0.03)  # ten clips of 3 ms
    assert estimate(batch=2).compute == pytest.approx(0.02)  # its operators
    assert estimate().loading == pytest.approx(0.005)  # ten clips of 2 ms on four cores
    once = 1100 * 0.008 / 4
    assert estimate().seconds == pytest.approx(START + once + 100 * 0.001 + 500 * 0.03)
    validated = 3 * 50 * 0.001 + 50 * 0.008 / 4  # decoded once
    assert estimate(validations=3).seconds == pytest.approx(estimate().seconds + validated)
    slow = estimate(kept_clip=0.04, first_clip=0.04)
    assert slow.seconds == pytest.approx(START + 100 * 0.01 + 500 * 0.1)


def test_sweep_prints_rows_and_starts_nothing(table, tiny, tmp_path, capsys):
    command = ["sweep", str(table[0]), "--estimate", "--seeds", "0,1", "--runs", str(tmp_path / "runs"), *tiny]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "first" in out
    assert "2nd" in out
    assert re.search(r"│ +32 │ +8 │", out), "2 pairs of 4 shapes, in batches of 4, 2 epochs: 32 clips, 8 steps"
    assert "2 rows: " in out
    assert "for 2" in out
    assert "TFLOP/s" in out
    assert not list((tmp_path / "runs").glob("**/result.json"))


def test_other_data_sets_are_not_guessed(tiny, letters, tmp_path, capsys):
    command = ["sweep", "experiments/avletters.yaml", "--estimate", f"--data.root={letters}", "--runs", str(tmp_path)]
    assert main(command) == 2
    assert "--estimate: space: data sets other than the embedded ones" in capsys.readouterr().err


def test_a_batch_of_more_videos_than_there_are_is_refused_as_in_training(table, tiny, tmp_path, capsys):
    flags = [*tiny, "--data.batch_size=17", "--runs", str(tmp_path)]
    assert main(["sweep", str(table[0]), "--estimate", *flags]) == 2
    assert "--estimate: first: data.batch_size is 17, there are 16 videos" in capsys.readouterr().err
