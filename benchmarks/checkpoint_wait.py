"""How long training waits for a checkpoint: ours, which writes in the background, beside Lightning's.

    python benchmarks/checkpoint_wait.py [FOLDER]

The state of X-ViT-B with AdamW, 1 GB, on the CPU; medians of interleaved rounds. On a GPU the copy is one to the host.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO

from lit_video.modules import XViT
from lit_video.training.checkpoint_file import CheckpointFile

ROUNDS = 5
NAMES = ("ours, training waits", "ours, written in the background", "Lightning's, training waits")


def state() -> dict[str, Any]:
    """What a checkpoint holds after a step of AdamW."""
    model = XViT(174)
    optimizer = torch.optim.AdamW(model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return {"state_dict": model.state_dict(), "optimizer_states": [optimizer.state_dict()]}


def main() -> None:
    """Print what each waits, and how long ours writes meanwhile."""
    content, file, plain = state(), CheckpointFile(), TorchCheckpointIO()
    seconds: dict[str, list[float]] = {name: [] for name in NAMES}
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        for _ in range(ROUNDS):
            marks = [time.perf_counter()]
            for work in (
                lambda: file.save_checkpoint(content, Path(folder, "last.ckpt")),
                file.flush,
                lambda: plain.save_checkpoint(content, Path(folder, "plain.ckpt")),
            ):
                work()
                marks.append(time.perf_counter())
            for name, start, end in zip(seconds, marks, marks[1:], strict=False):
                seconds[name].append(end - start)
        size = Path(folder, "last.ckpt").stat().st_size
    print(f"{size / 1e9:.2f} GB, medians of {ROUNDS}")
    for name, measured in seconds.items():
        print(f"{name}: {statistics.median(measured):.2f} s ({min(measured):.2f} to {max(measured):.2f})")


if __name__ == "__main__":
    main()
