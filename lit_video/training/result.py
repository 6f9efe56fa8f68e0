"""Result of a run: the test of its final checkpoint, written last."""

import resource
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import torch
from lightning import Trainer
from lightning.pytorch.callbacks import WeightAveraging

from lit_video.datamodules import TemporalSkills, VideoDataModule
from lit_video.modules import VideoClassifier
from lit_video.runs.files import update_run
from lit_video.runs.status import Status, write_status
from lit_video.schemes.reach import reach
from lit_video.training.callbacks.finite import refuse_not_finite
from lit_video.training.checkpoint_file import LAST, peek
from lit_video.training.identity import weights_digest
from lit_video.training.run_cli import RunCLI
from lit_video.utils.command_line import recorded_command
from lit_video.utils.environment import device_name
from lit_video.video.trained_on import said, seen


def measure(cli: RunCLI, checkpoint: Path) -> dict[str, float]:
    """Test the weights of a checkpoint, with the frames in every order that the data set's settings name.

    Raises:
        RunFailed: a number is not finite.
    """
    _test_the_average(cli.trainer)
    cli.trainer.test(cli.model, cli.datamodule, ckpt_path=checkpoint, verbose=False)
    metrics = _test_metrics(cli) | cli.predictions.calibration_error | _other_orders(cli, checkpoint)
    if cli.model.few_classes:  # top-5 of these says nothing
        metrics = {key: value for key, value in metrics.items() if not key.endswith("_top5")}
    refuse_not_finite(metrics, f"test of {checkpoint}")
    return metrics


def _test_the_average(trainer: Trainer) -> None:
    """Let a test have a checkpoint's own weights, which are the average that was validated where there is one.

    After a training Lightning's callback puts the weights that training would go on with in their place.
    """
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, WeightAveraging):
            callback.on_load_checkpoint = lambda *args: None  # type: ignore[method-assign]


def _other_orders(cli: RunCLI, checkpoint: Path) -> dict[str, float]:
    metrics: dict[str, float] = {}
    cli.trainer.loggers = []  # the run's record keeps the test of videos as they are
    for order in cli.datamodule.test_orders:
        cli.datamodule.order = order
        cli.trainer.test(cli.model, cli.datamodule, ckpt_path=checkpoint, verbose=False)
        measured = {key: value for key, value in _test_metrics(cli).items() if key != "test/videos"}
        metrics |= {f"{order}/{key.removeprefix('test/')}": value for key, value in measured.items()}
    return metrics


def _test_metrics(cli: RunCLI) -> dict[str, float]:
    """Return the metrics of the last test, over all videos and over groups of classes."""
    measured = {key: float(value) for key, value in cli.trainer.callback_metrics.items() if key.startswith("test/")}
    return measured | cli.predictions.group_accuracy(cli.datamodule.class_groups)


def _of_drawn_videos(model: VideoClassifier, data: VideoDataModule) -> dict[str, Any]:
    """Return reach and order-blind ceiling (TemporalSkills only)."""
    if not isinstance(data, TemporalSkills):
        return {}
    one = reach(model.network, data.frames, data.image_size)
    # a model that knows which frames are near can tell more than one for which they are a set
    ceiling = data.reversal_ceiling if one.near else data.blind_ceiling
    return {"reach": one.frames, "sees_order": one.order, "blind_ceiling": ceiling}


def _weights(run_dir: Path, checkpoint: Path) -> dict[str, Any]:
    """Describe the tested checkpoint: its file in the run's folder, step and digest."""
    file = checkpoint.resolve().relative_to(run_dir.resolve())
    return {"file": str(file), "step": peek(checkpoint)["global_step"], "digest": weights_digest(checkpoint)}


def write_result(cli: RunCLI, checkpoint: Path, metrics: dict[str, float], seconds: float) -> None:
    """Close the W&B run, then write the result of a run into ``run.json``; ``seconds`` of training."""
    steps = cli.trainer.global_step
    write_status(cli.run_dir, Status("writing", steps, steps))
    videos, broken = int(metrics.pop("test/videos", 0)), len(cli.datamodule.found_broken.reasons["test"])
    if cli.logger:
        cli.logger.finish(metrics, {"best": checkpoint, "last": cli.run_dir / LAST}.get(cli.config.wandb_artifact))
    known = seen(cli.model.trained_on, cli.datamodule.records("test"))
    facts = cli.facts | _of_drawn_videos(cli.model, cli.datamodule)
    del facts["commit"]  # the identity has it
    result = facts | {
        "metrics": metrics,
        "test_videos": videos,
        "test_broken": broken,
        "test_seen": known.count(True),
        "video_counts": cli.datamodule.video_counts,
        "steps": steps,
        "global_batch": cli.global_batch.clips,
        "weights": _weights(cli.run_dir, checkpoint),
        "skipped_steps": cli.finite.skipped,
        "seconds": seconds,
        "checkpoint_seconds": cli.file.waited,
        "device": device_name(cli.trainer.strategy.root_device),
        "command": recorded_command(sys.argv[1:]),
        "finished": datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    update_run(cli.run_dir, state=None, result=result)
    scores = ", ".join(f"{key} {value:.1f}" for key, value in metrics.items())
    tested = f"{scores} on {videos} videos" if videos else "trained, not tested"
    ended = [tested, said(known), f"{seconds:.0f} s"]
    memory = peak_memory(cli.trainer.strategy.root_device)
    print(f"{cli.run.label}: {', '.join(filter(None, [*ended, memory]))}", flush=True)


def peak_memory(device: torch.device) -> str:
    """Return the most memory that this process held, on a GPU or else the host, without the loader's workers."""
    if device.type == "cuda":
        return f"peak of GPU memory {torch.cuda.max_memory_allocated(device) / 1e9:.1f} GB"
    unit = 1 if sys.platform == "darwin" else 1024
    return f"peak of memory {unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9:.1f} GB"
