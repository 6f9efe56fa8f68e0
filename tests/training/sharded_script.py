"""What two processes do under FSDP2 in one launch: train, go on from one process's checkpoints, train a CNN, run a row.

    python -m tests.training.sharded_script OUT

Trainings go on from the checkpoints that ``OUT/one`` has, and leave theirs in ``OUT/two``; the row is in ``OUT/runs``.
"""

import sys
from pathlib import Path

import torch

from lit_video.__main__ import main
from tests.conftest import TINY
from tests.training.trained import RECIPES, train

SMALL = ["--trainer.logger=false", "--trainer.accelerator=cpu", "--data.batch_size=3", "--global_batch=6"]
SMALL += [flag for flag in TINY if "batch_size" not in flag and "model" not in flag]
SIZE = [flag for flag in TINY if "model" in flag]
TRANSFORMER = ["--config", "tests/small/ablation_tw.yaml", "--row=tw1", *SMALL, *SIZE, *RECIPES["drawn"]]
CNN = ["--config", "experiments/timesformer_cnns.yaml", "--row=slowfast", *SMALL, "--data.frames=8"]
SHARDED = ["--trainer.strategy=fsdp2", "--trainer.devices=2"]
BF16 = ["--trainer.precision=bf16-mixed", "--model.activation_checkpointing=block"]


def trained(out):
    """Every training by its name."""
    row = [*TRANSFORMER, *SHARDED, "--runs", str(out / "trainings")]
    runs = {"start": train(row, save_to=out / "two")}
    for checkpoint in [*(out / "one").glob("step?.ckpt"), out / "two/step3.ckpt"]:
        runs[f"{checkpoint.parent.name}-{checkpoint.stem}"] = train(row, resume=checkpoint)
    runs["accumulated"] = train([*row, "--data.batch_size=1"])
    runs["bf16"] = train([*row, *BF16])
    runs["cnn"] = train([*CNN, *SHARDED, "--runs", str(out / "trainings")])
    return runs


if __name__ == "__main__":
    torch.set_num_threads(1)
    out = Path(sys.argv[1])
    runs = trained(out)
    if torch.distributed.get_rank() == 0:
        torch.save({name: tuple(run) for name, run in runs.items()}, out / "trained.pt")
    sys.exit(main(["fit", *TRANSFORMER, *SHARDED, "--runs", str(out / "runs")]))
