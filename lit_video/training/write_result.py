"""Last step of a run: write its result into ``run.json``, and say how it ended."""

import logging
from datetime import datetime

import torch
from msgspec import structs

from lit_video.engine.checkpoints import peek
from lit_video.runs.chosen_checkpoint import LAST
from lit_video.runs.folder import FinishedRun, remarks, update_record, write_status
from lit_video.runs.history import History
from lit_video.runs.predictions import FURTHER_TESTS
from lit_video.runs.record import RunResult, Status, TestedWeights, VideoCount
from lit_video.training.command_line import recorded_command
from lit_video.training.fit import Trained
from lit_video.training.measure import sight_and_needs
from lit_video.training.trainer import Training
from lit_video.utils.environment import device_name
from lit_video.utils.text import plural
from lit_video.video.trained_on import seen
from lit_video.weights.reading import weights_digest

_logger = logging.getLogger(__name__)


def write_result(training: Training, trained: Trained, metrics: dict[str, float], history: History) -> None:
    """Close the W&B run and write the result into ``run.json``; its times and steps do not count the tests."""
    checkpoint = trained.checkpoint
    steps = training.trainer.global_step
    write_status(training.run_dir, Status("writing", steps, steps))
    videos = int(metrics.pop("test/videos", 0))
    if training.logger:
        training.logger.finish(
            metrics, {"best": checkpoint, "last": training.run_dir / LAST}.get(training.config.wandb_artifact)
        )

    were_seen = seen(training.model.trained_on, training.datamodule.records("test"))
    counts = {split: VideoCount(**count) for split, count in training.datamodule.video_counts.items()}
    tested = counts.get("test") or counts.get("val")
    listed = tested.listed if tested else len(were_seen)  # also missing videos
    result = RunResult(
        **structs.asdict(training.facts),
        **sight_and_needs(training),
        metrics=metrics,
        test_videos=videos,
        test_broken=len(training.datamodule.found_broken.reasons["test"]),
        test_seen=were_seen.count(True),
        test_left_out=listed - videos,
        video_counts=counts,
        steps=steps,
        global_batch=training.global_batch.clips,
        overridden=training.spec.overridden,
        weights=TestedWeights(
            file=str(checkpoint.resolve().relative_to(training.run_dir.resolve())),
            step=peek(checkpoint)["global_step"],
            digest=weights_digest(checkpoint),
        ),
        skipped_steps=trained.skipped_steps,
        seconds=trained.seconds,
        checkpoint_seconds=trained.checkpoint_seconds,
        device=device_name(training.trainer.strategy.root_device),
        command=recorded_command(training.run.words),
        finished=datetime.now().astimezone().isoformat(timespec="seconds"),
    )
    # write the whole record, because somebody may have removed the folder with the part that was written at the start
    update_record(
        training.run_dir,
        identity=history.identity,
        changes=list(history.changes),
        state=None,
        result=result,
    )
    _logger.info(f"{training.run.label}: {', '.join(_summary(training, result, history))}")


def _summary(training: Training, result: RunResult, history: History) -> list[str]:
    """Say how a run ended: its numbers, remarks, time and memory."""
    further = {f"{test}/video_top1" for test in FURTHER_TESTS}  # each with one number
    shown = [key for key in result.metrics if key.startswith("test/") or key in further]
    scores = ", ".join(f"{key} {result.metrics[key]:z.1f}" for key in shown)
    tested = f"{scores} on {plural(result.test_videos, 'video')}" if result.test_videos else "trained, not tested"
    run = FinishedRun(training.run_dir, result, history.identity, history.changes, result.overridden or {})
    texts = [tested, *remarks(run), f"{result.seconds:.0f} s"]

    device = training.trainer.strategy.root_device
    if device.type == "cuda":
        texts.append(f"peak of GPU memory {torch.cuda.max_memory_allocated(device) / 1e9:.1f} GB")
    return texts
