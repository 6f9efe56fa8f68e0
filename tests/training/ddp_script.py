"""Tests a fixed model on a folder of videos in as many processes as asked; the first prints the metrics."""

import json
import sys

import torch
from lightning import Trainer

from lit_video.datamodules import VideoFolder
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize

if __name__ == "__main__":
    root, processes = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(0)
    data = VideoFolder(root, frames=4, image_size=16, batch_size=3, num_workers=0, test_clips=2)
    model = XViT(data.num_classes, 4, 16, ViTSize(16, 1, 2), patch=8)
    trainer = Trainer(
        accelerator="cpu",
        devices=processes,
        strategy="ddp" if processes > 1 else "auto",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    (metrics,) = trainer.test(model, data, verbose=False)
    if trainer.is_global_zero:
        print("METRICS", json.dumps(metrics))
