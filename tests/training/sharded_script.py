"""Train and test a model on two processes, as whole copies (DDP) and with sharded parameters.

    python -m tests.training.sharded_script VIDEOS OUT

OUT gets ``ddp.pt`` and ``sharded.pt``: weights, metrics of the last validation, and those of a test.
"""

import sys
from functools import partial
from pathlib import Path

import torch
from lightning import Trainer
from lightning.pytorch.strategies import DDPStrategy, ModelParallelStrategy
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor

from lit_video.datamodules import VideoFolder
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize

STRATEGIES = {
    "ddp": DDPStrategy,
    # Lightning's default is to give the devices of a node the same clips, and parts of each layer
    "sharded": partial(ModelParallelStrategy, data_parallel_size=2, tensor_parallel_size=1),
}


class Sharded(XViT):
    """X-ViT whose blocks are sharded where the strategy has a mesh."""

    def configure_model(self):
        if self.device_mesh is not None and not isinstance(self.network, FSDPModule):  # called for the test too
            mesh = self.device_mesh["data_parallel"]
            for block in self.network.blocks:
                fully_shard(block, mesh=mesh)
            fully_shard(self.network, mesh=mesh)


def trained(name, videos, out):
    """Train for an epoch from a seed, test, and store what comes out."""
    torch.manual_seed(0)
    data = VideoFolder(videos, num_frames=4, image_size=16, batch_size=3, num_workers=0, test_clips=2)
    size = ViTSize(16, 2, 2)
    optimization = Optimization("adamw", lr=1e-3)
    model = Sharded(data.num_classes, 4, 16, size=size, patch_size=8, dropout=0.0, optimization=optimization)
    trainer = Trainer(
        accelerator="cpu",
        devices=2,
        strategy=STRATEGIES[name](process_group_backend="gloo"),
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, data)
    validated = {key: float(value) for key, value in trainer.callback_metrics.items()}
    weights = trainer.strategy.lightning_module_state_dict()
    weights = {key: value.full_tensor() if isinstance(value, DTensor) else value for key, value in weights.items()}
    (tested,) = trainer.test(model, data, verbose=False)
    if trainer.is_global_zero:
        torch.save((weights, validated, tested), out / f"{name}.pt")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in STRATEGIES:
        trained(name, sys.argv[1], Path(sys.argv[2]))
