"""Training of a row in this process, or in each of several, with all that can be compared."""

from typing import NamedTuple

from lightning import Callback

from lit_video.experiment.spec import Spec
from lit_video.training.trainer import Training
from lit_video.utils.processes import StopSignals
from tests.command_line import parse_request

# plain: no draws for a batch, for runs whose batches differ; drawn: everything that draws random numbers
RECIPES = {
    "plain": ["--model.dropout=0", "--data.augmentation.random_erasing=0"],
    "drawn": [
        "--model.drop_path_rate=0.2",
        *(f"--data.augmentation.{one}" for one in ("policy=timm-v0", "random_erasing=0.5", "mixup=0.4", "cutmix=1.0")),
    ],
}


class Trained(NamedTuple):
    """Weights, optimizer steps, the logged loss of every step, and other metrics after the last epoch."""

    weights: dict
    steps: int
    losses: list
    metrics: dict


class EveryStep(Callback):
    """Callback that keeps every step's loss, and saves checkpoints after and inside steps, like ModelCheckpoint."""

    def __init__(self, folder):
        self.folder = folder
        self.losses = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        inside = (batch_idx + 1) % trainer.accumulate_grad_batches
        if not inside:
            self.losses.append(float(trainer.callback_metrics["train/loss"]))
        if self.folder:
            name = f"step{trainer.global_step}{'-inside' if inside else ''}.ckpt"
            trainer.save_checkpoint(self.folder / name)


def train(flags, save_to=None, resume=None):
    """Train a row, from the start or from a checkpoint."""
    run = parse_request(flags).runs[0]
    cli = Training(Spec(run), StopSignals("test"))
    run.folder.mkdir(parents=True, exist_ok=True)
    every = EveryStep(save_to)
    cli.trainer.callbacks.append(every)
    cli.trainer.fit(cli.model, cli.datamodule, ckpt_path=resume, weights_only=True)
    metrics = {name: float(value) for name, value in cli.trainer.callback_metrics.items()}
    metrics.pop("train/data_wait", None)  # a time, which differs
    weights = cli.trainer.strategy.lightning_module_state_dict()
    weights = {name.removeprefix("network."): value for name, value in weights.items()}
    return Trained(weights, cli.trainer.global_step, every.losses, metrics)
