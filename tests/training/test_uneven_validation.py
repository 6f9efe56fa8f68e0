"""Test that two processes with unequal validation loaders of the user's own train to the end, and stop together."""

import signal
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from lightning import Callback, Trainer
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, Dataset, IterableDataset

from lit_video.engine.checkpoint_file import CheckpointFile
from lit_video.engine.checkpoints import Checkpoints, certain_batches
from lit_video.engine.finite import RequireFinite
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
from lit_video.utils.stop_signals import StopSignals

STEPS = 3


def clip(number):
    generator = torch.Generator().manual_seed(number)
    picture = torch.randn(3, 2, 16, 16, generator=generator)
    return dict(clip=picture, target=torch.tensor(number % 2), video=torch.tensor(number), view=torch.tensor(0))


class Own(Dataset):
    """Clips of which each process has its own number."""

    def __init__(self, *counts):
        self.counts = counts

    def __len__(self):
        return self.counts[dist.get_rank() if dist.is_initialized() else 0]

    def __getitem__(self, number):
        return clip(number)


class Stream(IterableDataset):
    """Stream of the same clips; its length is that of all."""

    def __init__(self, *counts):
        self.clips = Own(*counts)

    def __len__(self):
        return sum(self.clips.counts)

    def __iter__(self):
        return (self.clips[i] for i in range(len(self.clips)))


class SignalAt(Callback):
    """Callback that lets one process receive a signal in a batch of the first validation."""

    def __init__(self, stops, rank, batch):
        self.stops = stops
        self.place = (rank, batch)

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        if (trainer.global_rank, batch_idx) == self.place:
            self.stops.received = signal.SIGTERM


def fit(folder, loaders, place=(None, None)):
    """Train on two processes, and validate after each of three steps."""
    stops, file, finite = StopSignals("test"), CheckpointFile(), RequireFinite()
    parts = dict(run_dir=folder, every=1e9, max_time=None, stops=stops, file=file, finite=finite, record={})
    trainer = Trainer(
        accelerator="cpu",
        devices=2,
        strategy=DDPStrategy(start_method="fork", timeout=timedelta(seconds=30)),
        max_epochs=1,
        num_sanity_val_steps=0,
        val_check_interval=1,
        use_distributed_sampler=False,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[SignalAt(stops, *place), Checkpoints(**parts)],
        plugins=[file],
    )
    torch.manual_seed(0)
    model = XViT(2, 2, 16, size=ViTSize(16, 1, 2), patch_size=8)
    trainer.fit(model, DataLoader(Own(STEPS, STEPS)), loaders)


LOADERS = {
    "less in the second": [Own(5, 2)],
    "less in the first": [Own(1, 4)],
    "two loaders": [Own(4, 2), Own(1, 3)],
    "a stream": [Stream(3, 1)],
    "a stream and videos": [Stream(1, 3), Own(2, 2)],
}


@pytest.mark.slow  # alone: a process that has trained cannot be forked to train again
@pytest.mark.parametrize("name", LOADERS)
def test_unequal_validation_loaders_end(name, tmp_path):
    fit(tmp_path, [DataLoader(each) for each in LOADERS[name]])
    assert torch.load(tmp_path / "last.ckpt", weights_only=True)["global_step"] == STEPS


# the second process receives the signal: in a batch that both have, in one that it has alone, in an unknown one
@pytest.mark.slow
@pytest.mark.parametrize(("data", "batch", "step"), [(Own(1, 4), 0, 1), (Own(1, 4), 2, 2), (Stream(1, 4), 0, 2)])
def test_a_signal_to_one_process_stops_both(data, batch, step, tmp_path):
    with pytest.raises(Exception, match=f"stopped by SIGTERM at step {step} of {STEPS}"):
        fit(tmp_path, DataLoader(data), (1, batch))
    assert torch.load(tmp_path / "last.ckpt", weights_only=True)["global_step"] == step


def test_the_length_of_a_stream_is_no_certain_number_of_batches():
    loaders = [DataLoader(Own(5)), DataLoader(Stream(5)), [1, 2, 3], iter([1])]
    assert certain_batches(loaders, [4, 5, 3, float("inf")]) == [4, 0, 3, 0]
