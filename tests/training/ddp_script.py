"""Launch of two processes: test a fixed model, synchronise a metric, train, run rows with broken videos.

    python -m tests.training.ddp_script VIDEOS OUT [flags of a row over broken videos]

OUT gets ``metrics.json``, a file for the metric of each process, ``trained.pt``, and the ``status`` of the first row.
Trainings resume from checkpoints in ``OUT/one``, and save theirs in ``OUT/two``.
"""

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from lightning import Trainer
from torch.utils.data import DataLoader

from lit_video.__main__ import main
from lit_video.datamodules import VideoFolder
from lit_video.modules import XViT
from lit_video.modules.metrics import VideoAccuracy
from lit_video.network.vit import ViTSize
from tests.modules.test_video_accuracy import padded_share, rows
from tests.training.trained import RECIPES, train


def metrics_of(videos, processes):
    """Return metrics of a fixed model on a folder of videos, and on a user's loader of seven clips and classes."""
    torch.manual_seed(0)
    clips = [(torch.randn(3, 4, 16, 16), number) for number in range(7)]
    data = VideoFolder(videos, num_frames=4, image_size=16, batch_size=3, num_workers=0, test_clips=2)
    model = XViT(data.num_classes, 4, 16, size=ViTSize(16, 1, 2), patch_size=8)
    trainer = Trainer(
        accelerator="cpu",
        devices=processes,
        strategy="ddp" if processes > 1 else "auto",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    plain = DataLoader(clips, batch_size=2)
    tested = [trainer.test(model, plain, verbose=False)[0], trainer.test(model, data, verbose=False)[0]]
    return [*tested, trainer.validate(model, plain, verbose=False)[0]]


def synchronised(rank):
    """Update a metric with this process's share of the views, then synchronise it."""
    metric, share = VideoAccuracy(), padded_share(rank, 2)
    for start in range(0, len(share[0]), 4):
        logits, target, video, view = rows(share, slice(start, start + 4))
        metric.update(logits, target, video=video, view=view)
    result = metric.compute()
    metric.sync()
    return {"result": result, "views": len(metric.video), "mean": metric.per_video()[0]}


def trained(out, flags):
    """Train in two processes, from the start and from one process's checkpoint."""
    runs = {}
    for name, recipe in RECIPES.items():
        (out / "two" / name).mkdir(parents=True, exist_ok=True)
        row = [*flags[1:], "--data.batch_size=3", *recipe, "--runs", str(out / "runs" / name)]
        runs[name] = train(row, save_to=out / "two" / name)
    runs["checkpointing"] = train([*row, "--model.activation_checkpointing=attention"])
    runs["step3"] = train(row, resume=out / "one/step3.ckpt")
    return runs


if __name__ == "__main__":
    torch.set_num_threads(1)
    videos, out, row = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    metrics = metrics_of(videos, 2)
    rank = dist.get_rank()
    torch.save(synchronised(rank), out / f"{rank}.pt")
    if rank == 0:
        (out / "metrics.json").write_text(json.dumps(metrics))
    runs = trained(out, row)
    if rank == 0:
        torch.save({name: tuple(run) for name, run in runs.items()}, out / "trained.pt")
    status = main([*row, "--runs", str(out / "skip"), "--data.broken=skip", "--data.broken_percent=13"])
    if rank == 0:
        (out / "status").write_text(str(status))
        print("NEXT ROW", file=sys.stderr, flush=True)
    sys.exit(main([*row, "--runs", str(out / "fail"), "--data.broken=fail"]))
