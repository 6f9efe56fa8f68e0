"""Test that a table says how its rows were trained, and which were trained otherwise."""

import pytest

from lit_video.tables.summary import terms, terms_of
from tests.fake_runs import fake_run


def run(steps=768, **model):
    optimization = {"optimizer": model.pop("optimizer", "muon"), "lr": 0.003}
    settings = {"model": {"init_args": {"optimization": optimization, "image_weights": "stills:100"} | model}}
    return fake_run(settings, steps=steps, global_batch=16)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (run(), "muon at 0.003, 768 steps of 16 clips, from stills:100"),
        (run(weights="run:a/b/c"), "muon at 0.003, 768 steps of 16 clips, from run:a/b/c"),
        (run(image_weights=None, optimizer="adamw"), "adamw at 0.003, 768 steps of 16 clips, from scratch"),
        (run(steps=3072, positions="space"), "3,072 steps of 16 clips, from stills:100, no positions in time"),
    ],
    ids=str,
)
def test_terms_name_optimizer_rate_length_start_and_missing_positions(made, words):
    assert words in terms_of(made)


def test_equal_terms_are_said_once_and_others_with_their_rows():
    labels = {"a": "A", "b": "B", "c": "C", "d": "D"}
    assert terms(labels, {"a": [run()], "b": [run()], "c": [], "d": []}) == [f"Trained by {terms_of(run())}"]
    first, other = terms(labels, {"a": [run(steps=8)], "b": [run()], "c": [run()], "d": []})
    assert first == f"Trained by {terms_of(run())}"
    assert other.startswith("A: muon at 0.003, 8 steps")
    assert terms(labels, {"a": [], "b": []}) == []
