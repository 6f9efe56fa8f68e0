"""Train in two forked processes with validation loaders of unequal length, once for each case.

    python -m tests.training.uneven_script OUT

``OUT/outcomes.json`` gets for each case the step of its last checkpoint, and the error that ended it, if any.
The process of the script itself trains nothing: PyTorch refuses to train in a fork of a process that has trained.
"""

import json
import signal
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from lightning import Callback, Trainer
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, Dataset, IterableDataset

from lit_video.engine.checkpoints import CheckpointFile, Checkpoints
from lit_video.engine.finite import RequireFinite
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
from lit_video.utils.processes import StopSignals

STEPS = 3


def clip(number):
    """Return a clip of two frames with its class."""
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
        strategy=DDPStrategy(start_method="fork", timeout=timedelta(seconds=120)),
        max_epochs=1,
        num_sanity_val_steps=0,
        val_check_interval=1,
        use_distributed_sampler=False,
        callbacks=[SignalAt(stops, *place), Checkpoints(**parts)],
        plugins=[file],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    torch.manual_seed(0)
    model = XViT(2, 2, 16, size=ViTSize(16, 1, 2), patch_size=8)
    trainer.fit(model, DataLoader(Own(STEPS, STEPS)), loaders)


# case -> validation clips of the two processes
LOADERS = {
    "less in the second": [Own(5, 2)],
    "less in the first": [Own(1, 4)],
    "two loaders": [Own(4, 2), Own(1, 3)],
    "a stream": [Stream(3, 1)],
    "a stream and videos": [Stream(1, 3), Own(2, 2)],
}
# case -> validation clips, batch in which the second process receives a signal, step at which both stop
SIGNALS = {
    "a batch that both have": (Own(1, 4), 0, 1),
    "a batch that one has alone": (Own(1, 4), 2, 2),
    "a batch of unknown number": (Stream(1, 4), 0, 2),
}


def outcomes(out):
    """Train each case in a folder of its own; return its step and its error."""
    cases = {name: (data, (None, None)) for name, data in LOADERS.items()}
    cases |= {name: ([data], (1, batch)) for name, (data, batch, _) in SIGNALS.items()}
    found = {}
    for number, (name, (data, place)) in enumerate(cases.items()):
        folder = out / str(number)
        folder.mkdir()
        error = ""
        try:
            fit(folder, [DataLoader(each) for each in data], place)
        except Exception as raised:
            error = str(raised)
        step = torch.load(folder / "last.ckpt", weights_only=True)["global_step"]
        found[name] = {"step": step, "error": error}
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    out = Path(sys.argv[1])
    (out / "outcomes.json").write_text(json.dumps(outcomes(out)))
