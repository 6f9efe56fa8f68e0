"""Test the order of training and evaluation: shared by ranks, resumed, and equal per step on any devices."""

import gc
import multiprocessing
from itertools import chain

import numpy as np
import pytest

from lit_video.utils.processes import ignore_stops
from lit_video.video.loading import EvaluationSampler, TimedLoader, TrainingOrder, TrainingSampler


def sampler_of(items=24, seed=0, batch=1, ranks=(1, 0), accumulate=1, resume=(0, 0), **parts):
    order = TrainingOrder(np.arange(items), seed, **parts)
    return TrainingSampler(order, batch, ranks=ranks, accumulate=accumulate, resume=resume)


def order(*args, epoch=0, **kwargs):
    sampler = sampler_of(*args, **kwargs)
    sampler.set_epoch(epoch)
    return list(sampler)


def evaluation(items, ranks=(1, 0), epoch=0):
    sampler = EvaluationSampler(items, ranks)
    sampler.set_epoch(epoch)
    return list(sampler)


def test_the_order_is_a_shuffle_that_epoch_and_seed_change():
    assert sorted(order(epoch=3)) == [(3, i) for i in range(24)]
    assert order() == order()
    orders = [[i for _, i in order(epoch=epoch, seed=seed)] for epoch in range(3) for seed in range(0, 300, 100)]
    assert len({tuple(one) for one in orders}) == 9
    assert list(range(24)) not in orders


def test_evaluation_keeps_the_order_and_gives_ranks_equal_shares_of_an_uneven_number():
    assert evaluation(24, epoch=2) == [(2, i) for i in range(24)]
    shares = [evaluation(13, ranks=(2, rank)) for rank in range(2)]
    assert [len(share) for share in shares] == [7, 7]
    assert {i for share in shares for _, i in share} == set(range(13))


def batches(items, batch, ranks, accumulate, epoch=0, resume=(0, 0), **parts):
    """Return an epoch's batches in the order of a step: the first of every rank, then the second of every rank, ..."""
    shares = [
        order(items, 0, batch, (ranks, rank), accumulate, epoch=epoch, resume=resume, **parts) for rank in range(ranks)
    ]
    sampler = sampler_of(items, 0, batch, (ranks, 0), accumulate, **parts)
    assert {len(share) for share in shares} == {len(sampler)} or resume[1]
    cut = [[share[i : i + batch] for i in range(0, len(share), batch)] for share in shares]
    return list(chain(*zip(*cut, strict=True)))


@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize(("ranks", "accumulate"), [(1, 12), (2, 6), (3, 4), (4, 3), (6, 2), (12, 1)])
def test_a_step_has_the_same_batches_on_any_devices(ranks, accumulate, epoch):
    whole = order(items=75, batch=2, accumulate=12, epoch=epoch)
    assert len(whole) == 72, "3 steps of 24"
    assert whole == list(TrainingOrder(np.arange(75), 0).keys(72 * epoch, 72 * (epoch + 1)))
    assert list(chain(*batches(75, 2, ranks, accumulate, epoch))) == whole


@pytest.mark.parametrize("batch", [1, 2, 3, 4, 6, 12, 24])
def test_a_step_has_the_same_items_in_batches_of_any_size(batch):
    assert order(items=75, batch=batch, accumulate=24 // batch) == order(items=75, batch=24)


@pytest.mark.parametrize(("ranks", "accumulate"), [(1, 4), (2, 2), (4, 1)])
def test_resuming_leaves_out_exactly_what_was_seen_on_any_devices_and_only_in_its_epoch(ranks, accumulate):
    whole = {epoch: order(items=75, batch=2, accumulate=4, epoch=epoch) for epoch in range(3)}
    for seen in (0, 8, 40, 72):
        again = {epoch: list(chain(*batches(75, 2, ranks, accumulate, epoch, resume=(1, seen)))) for epoch in whole}
        assert again == whole | {1: whole[1][seen:]}


@pytest.mark.parametrize(("ranks", "accumulate"), [(1, 4), (2, 2), (4, 1)])
@pytest.mark.parametrize("seen", [16, 24, 32], ids=["before", "at", "after"])
def test_resuming_around_the_end_of_a_lesson_on_any_devices_keeps_films_beside_reverses(seen, ranks, accumulate):
    parts = dict(reverses=np.arange(40) ^ 1, lesson=np.arange(0, 12, 2), lesson_items=24)
    films = TrainingOrder(np.arange(0, 40, 2), 0, **parts)
    whole = list(films.keys(0, 40))
    shares = []
    for rank in range(ranks):
        sampler = TrainingSampler(films, 2, ranks=(ranks, rank), accumulate=accumulate, resume=(0, seen))
        share = list(sampler)
        assert all(reverse == (film[0], film[1] + 1) for film, reverse in zip(share[::2], share[1::2], strict=True))
        shares.append([share[start : start + 2] for start in range(0, len(share), 2)])
    assert list(chain(*chain(*zip(*shares, strict=True)))) == whole[seen:]


def test_an_iteration_without_set_epoch_is_the_next_epoch():
    sampler = sampler_of(items=75, batch=24)
    assert [list(sampler) for _ in range(3)] == [order(items=75, batch=24, epoch=epoch) for epoch in range(3)]
    sampler.set_epoch(1)
    assert list(sampler) == order(items=75, batch=24, epoch=1)


def test_a_step_that_was_interrupted_starts_over():
    assert order(items=24, batch=2, accumulate=2, resume=(0, 10)) == order(items=24, batch=2, accumulate=2)[8:]


def test_workers_end_by_themselves_when_the_garbage_collector_finds_their_loader():
    others = multiprocessing.active_children()
    loader = TimedLoader(range(8), num_workers=1, persistent_workers=True, worker_init_fn=lambda number: ignore_stops())
    loader.itself = loader  # a cycle, like that of a trainer and its model
    assert next(iter(loader)) == 0
    (worker,) = set(multiprocessing.active_children()) - set(others)
    del loader
    gc.collect()
    assert worker.exitcode == 0
