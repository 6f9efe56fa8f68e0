"""The share of a training that waits for data, by a clock that the test sets; the loader that counts it."""

from types import SimpleNamespace

import pytest

from lit_video.training.callbacks.progress import DataWait
from lit_video.video.loading import TimedLoader


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Items:
    """Items that take some seconds each to read."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds = clock, seconds

    def __len__(self):
        return len(self.seconds)

    def __getitem__(self, i):
        self.clock.now += self.seconds[i]
        return i


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("time.perf_counter", clock)
    return clock


def run(clock, seconds, computes, validation=None):
    """A training whose steps take these seconds to read and to compute; what was logged."""
    callback, logged = DataWait("row seed 0"), []
    trainer = SimpleNamespace(train_dataloader=TimedLoader(Items(clock, seconds), batch_size=None), is_global_zero=True)
    module = SimpleNamespace(log=lambda name, value, **options: logged.append((name, round(value.item(), 4))))
    for i, (_, compute) in enumerate(zip(trainer.train_dataloader, computes, strict=True)):
        clock.now += compute
        callback.on_train_batch_end(trainer, module, None, None, i)
        if i == validation:
            clock.now += 1000
            callback.on_validation_end(trainer, module)
    return logged


def test_the_share_is_that_of_the_steps_after_the_first(clock):
    logged = run(clock, seconds=[30, 1, 2, 0], computes=[3, 3, 2, 8], validation=1)
    assert logged == [("train/data_wait", share) for share in (25, 37.5, 18.75)]


def test_the_share_is_that_of_the_last_fifty_steps(clock):
    logged = run(clock, seconds=[1.0] * 51 + [0.0] * 25, computes=[1.0] * 76)
    assert logged[49] == ("train/data_wait", 50)
    assert logged[-1] == ("train/data_wait", round(100 * 25 / (25 * 2 + 25), 4))


def test_who_waits_much_is_told_once_what_to_do(clock, capsys):
    run(clock, seconds=[3.0] * 40, computes=[7.0] * 40)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("row seed 0: 30 % of the time waits for data: more workers (--data.num_workers)")


@pytest.mark.parametrize(("seconds", "steps"), [(3.0, 5), (0.5, 40)], ids=["short", "fast"])
def test_who_trains_for_a_short_time_or_waits_little_is_told_nothing(clock, capsys, seconds, steps):
    run(clock, seconds=[seconds] * steps, computes=[7.0] * steps)
    assert not capsys.readouterr().out
