"""Recorded commands can be run elsewhere and say nothing about the machine."""

import pytest

from lit_video.utils.command_line import recorded_command


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("fit --config experiments/a.yaml --seeds 0,1", "fit --config experiments/a.yaml --seeds 0,1"),
        ("fit --runs /home/me/runs --data.root=/data/ssv2", "fit --runs DIR --data.root=DIR"),
        ("fit --runs ~/runs --config /tmp/x/a.yaml", "fit --runs DIR --config a.yaml"),
        ("fit --data.root ../shared/data/letters --config ../a.yaml", "fit --data.root DIR --config a.yaml"),
        ("test --model.weights=/w/x.pyth --runs runs", "test --model.weights=x.pyth --runs runs"),
    ],
)
def test_folders_of_the_machine_are_left_out(given, kept):
    assert recorded_command(given.split()) == f"python -m lit_video {kept}"


def test_the_command_can_be_typed_again():
    assert recorded_command(["fit", "--data.pairs=[2, 1, 1]"]) == "python -m lit_video fit '--data.pairs=[2, 1, 1]'"
