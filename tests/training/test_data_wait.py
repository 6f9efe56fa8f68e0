"""The share of a training that waits for data, by a clock that the test sets; the loader that counts it."""

from types import SimpleNamespace

import pytest

from lit_video.datamodules import TemporalSkills
from lit_video.training.callbacks.data_wait import DataWait
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


def run(clock, tmp_path, seconds, computes, workers=1, after=60.0, validation=None):
    """A training whose steps take these seconds to read and to compute; what was logged."""
    callback, logged = DataWait("row seed 0", after), []
    data = TemporalSkills(root=str(tmp_path), num_workers=workers)
    trainer = SimpleNamespace(
        train_dataloader=TimedLoader(Items(clock, seconds), batch_size=None), datamodule=data, is_global_zero=True
    )
    module = SimpleNamespace(log=lambda name, value, **options: logged.append((name, round(value.item(), 4))))
    for i, (_, compute) in enumerate(zip(trainer.train_dataloader, computes, strict=True)):
        clock.now += compute
        callback.on_train_batch_end(trainer, module, None, None, i)
        if i == validation:
            clock.now += 1000
            callback.on_validation_end(trainer, module)
    return logged


def test_the_share_is_that_of_the_steps_after_the_first(clock, tmp_path):
    logged = run(clock, tmp_path, seconds=[30, 1, 2, 0], computes=[3, 3, 2, 8], validation=1)
    assert logged == [("train/data_wait", share) for share in (25, 37.5, 18.75)]


def test_the_share_is_that_of_the_last_fifty_steps(clock, tmp_path):
    logged = run(clock, tmp_path, seconds=[1.0] * 51 + [0.0] * 25, computes=[1.0] * 76)
    assert logged[49] == ("train/data_wait", 50)
    assert logged[-1] == ("train/data_wait", round(100 * 25 / (25 * 2 + 25), 4))


@pytest.mark.parametrize(
    ("workers", "said"),
    [
        (1, "more workers (--data.num_workers, now 1; there are 4 cores), or videos that are faster to read"),
        (4, "videos that are faster to read (python -m lit_video data prepare)"),
    ],
)
def test_who_waits_much_is_told_once_what_to_do(clock, tmp_path, capsys, monkeypatch, workers, said):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(4)), raising=False)
    run(clock, tmp_path, seconds=[3.0] * 40, computes=[7.0] * 40, workers=workers)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"row seed 0: 30 % of the time so far waited for data: {said}")


@pytest.mark.parametrize(("seconds", "steps"), [(3.0, 5), (0.5, 40)], ids=["short", "fast"])
def test_who_trains_for_a_short_time_or_waits_little_is_told_nothing(clock, tmp_path, capsys, seconds, steps):
    run(clock, tmp_path, seconds=[seconds] * steps, computes=[7.0] * steps)
    assert not capsys.readouterr().out
