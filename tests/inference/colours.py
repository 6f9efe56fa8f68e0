"""Videos of plain colours, and a model that has learned them in a second, so that its predictions are known."""

import numpy as np
import torch

from lit_video.datamodules import VideoFolder
from lit_video.modules import TimeSformer
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from lit_video.video.sampling import Dense
from tests import checkpoints
from tests.video import made

COLOURS = {"red": (200, 40, 40), "green": (40, 200, 40), "blue": (40, 40, 200)}
RATE = 10
GOOD = Optimization(optimizer="adamw", lr=3e-3)


def write(path, *parts):
    """Write a video of colours one after the other, each for some seconds; no two frames are equal."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    levels = [COLOURS[name] for name, seconds in parts for _ in range(round(seconds * RATE))]
    pictures = [np.clip(level + rng.integers(-30, 30, (24, 32, 3)), 0, 255).astype(np.uint8) for level in levels]
    made.write(path, "libx264", options={"g": "12"}, fps=RATE, height=24, width=32, pictures=pictures)
    return path


def trained(folder, sampling=None):
    """Train a model that tells the colours apart, on class folders beside its checkpoint, which is returned."""
    for split in ("train", "val", "test"):
        for name in COLOURS:
            for i in range(2):
                write(folder / split / name / f"{i}.mp4", (name, 1.5))
    torch.manual_seed(0)
    clips = dict(num_frames=4, image_size=16, batch_size=6, num_workers=0, keep_gb=0.1)
    data = VideoFolder(str(folder), sampling=sampling or Dense(1.0), **clips)
    model = TimeSformer(3, 4, 16, size=ViTSize(16, 1, 2), patch_size=8, optimization=GOOD)
    return checkpoints.trained(model, data, folder / "last.ckpt", max_epochs=40, limit_val_batches=0)
