"""Test metrics of two processes, of which one may have no clips: the result is that of one process with all clips."""

import os

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from lightning import Trainer
from torch.utils.data import DataLoader, IterableDataset

from lit_video.modules import XViT
from lit_video.modules.metrics import video_metric
from lit_video.network.vit import ViTSize
from tests.checkpoints import QUIET

CLASSES = {"one task": 6, "tasks": {"verb": 3, "noun": 4}, "several labels": 6}


def clips(name, count):
    """Return logits, targets, videos and views of clips."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(count, 7 if name == "tasks" else 6, generator=generator)
    target = torch.randint(0, 3, (count,), generator=generator)
    if name == "tasks":
        target = torch.stack((target, target), dim=1)
    if name == "several labels":
        target = torch.nn.functional.one_hot(target, 6)
    return logits, target, torch.arange(count), torch.zeros(count, dtype=torch.long)


def computed(name, parts):
    """Return a metric's result, ``None`` without clips; ``parts`` are the process's."""
    metric = video_metric(CLASSES[name], name == "several labels", "logits")
    if len(parts[0]):
        logits, target, video, view = parts
        metric.update(logits, target, video=video, view=view)
    return {key: float(value) for key, value in metric.compute().items()} if metric.has_clips() else None


def work(rank, port, counts, results):
    """Compute all metrics in one of two processes."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    for name in CLASSES:
        begin = sum(counts[:rank])
        part = [value[begin : begin + counts[rank]] for value in clips(name, sum(counts))]
        results[rank, name] = computed(name, part)
    dist.destroy_process_group()


@pytest.fixture
def port():
    from lightning.fabric.plugins.environments.lightning import find_free_network_port

    return find_free_network_port()


@pytest.mark.parametrize("counts", [(5, 0), (0, 5), (4, 1), (0, 0)])
def test_two_processes_give_the_result_of_one(counts, port):
    manager = mp.get_context("fork").Manager()
    results = manager.dict()
    mp.start_processes(work, (port, counts, results), nprocs=2, start_method="fork")
    for name in CLASSES:
        expected = computed(name, clips(name, sum(counts)))
        assert (expected is None) == (counts == (0, 0))
        for rank in range(2):
            assert results[rank, name] == (expected and pytest.approx(expected, nan_ok=True)), (name, rank)


class Shards(IterableDataset):
    """Clips of which each process has its own number."""

    def __init__(self, counts):
        self.counts = counts

    def __iter__(self):
        rank = dist.get_rank() if dist.is_initialized() else None
        generator = torch.Generator().manual_seed(0)
        for number in range(sum(self.counts)):
            clip = torch.randn(3, 4, 16, 16, generator=generator)
            place = torch.tensor(number)
            if rank is None or (number >= self.counts[0]) == rank:
                yield dict(clip=clip, target=place % 2, video=place, view=torch.tensor(0))


def run(loops, model, loaders, **settings):
    """Validate and test a model; return what was logged."""
    logged = {}
    for loop in loops:
        trainer = Trainer(max_epochs=1, num_sanity_val_steps=0, **QUIET, **settings)
        (result, *_) = getattr(trainer, loop)(model, loaders, verbose=False)
        logged |= result
    return logged


@pytest.mark.parametrize("counts", [(4, 0), (4, 1), (0, 4)])
def test_a_trainer_of_two_processes_logs_what_one_process_logs(counts):
    torch.manual_seed(0)
    model = XViT(2, 4, 16, size=ViTSize(16, 1, 2), patch_size=8)
    loaders = DataLoader(Shards(counts), 2)
    expected = run(["validate", "test"], model, loaders)
    found = run(["validate", "test"], model, loaders, devices=2, strategy="ddp_fork")
    assert found == pytest.approx(expected, abs=1e-5)
