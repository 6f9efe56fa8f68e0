"""Test that processes which share a model are refused: each would load clips of its own."""

from types import SimpleNamespace

import pytest

from lit_video.datamodules.loaders import ranks
from lit_video.errors import UserError


def trainer(groups):
    strategy = SimpleNamespace(distributed_sampler_kwargs={"num_replicas": groups, "rank": 0})
    return SimpleNamespace(world_size=4, global_rank=3, strategy=strategy)


def test_every_process_is_a_group_of_its_own():
    assert ranks(trainer(4)) == (4, 3)
    with pytest.raises(UserError, match=r"4 processes in 2 groups that share a model.*tensor_parallel_size to 1"):
        ranks(trainer(2))
