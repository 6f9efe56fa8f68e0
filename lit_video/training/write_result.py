"""Last step of a run: write its result into ``run.json``, and say how it ended."""

import logging
from datetime import datetime

import torch

from lit_video.engine.checkpoint_file import peek
from lit_video.runs.chosen_checkpoint import LAST
from lit_video.runs.finished import FinishedRun, remarks
from lit_video.runs.folder import update_record
from lit_video.runs.history import History
from lit_video.runs.predictions import FURTHER_TESTS
from lit_video.runs.record import Status
from lit_video.runs.result import RunResult, TestedWeights, VideoCount
from lit_video.runs.status import write_status
from lit_video.training.command_line import recorded_command
from lit_video.training.fit import Trained
from lit_video.training.identity import overridden, weights_digest
from lit_video.training.measure import sight_and_needs
from lit_video.training.trainer import RunCLI
from lit_video.utils.environment import device_name
from lit_video.utils.text import plural
from lit_video.video.trained_on import seen

_logger = logging.getLogger(__name__)


def write_result(cli: RunCLI, trained: Trained, metrics: dict[str, float], *, history: History, digest: str) -> None:
    """Close the W&B run and write the result into ``run.json``; its times and steps do not count the tests.

    ``digest`` is that of what was asked for when the training began, see :func:`lit_video.training.finished.asked`.
    """
    checkpoint = trained.checkpoint
    steps = cli.trainer.global_step
    write_status(cli.run_dir, Status("writing", steps, steps))
    videos = int(metrics.pop("test/videos", 0))
    if cli.logger:
        cli.logger.finish(metrics, {"best": checkpoint, "last": cli.run_dir / LAST}.get(cli.config.wandb_artifact))

    were_seen = seen(cli.model.trained_on, cli.datamodule.records("test"))
    counts = {split: VideoCount(**count) for split, count in cli.datamodule.video_counts.items()}
    tested = counts.get("test") or counts.get("val")
    listed = tested.listed if tested else len(were_seen)  # also missing videos
    facts = cli.facts
    result = RunResult(
        table=facts.table,
        row=facts.row,
        scale=facts.scale,
        seed=facts.seed,
        scheme=facts.scheme,
        params=facts.params,
        gmacs=facts.gmacs,
        views=facts.views,
        **sight_and_needs(cli),
        metrics=metrics,
        test_videos=videos,
        test_broken=len(cli.datamodule.found_broken.reasons["test"]),
        test_seen=were_seen.count(True),
        test_left_out=listed - videos,
        video_counts=counts,
        steps=steps,
        global_batch=cli.global_batch.clips,
        overridden=overridden(cli.run),
        weights=TestedWeights(
            file=str(checkpoint.resolve().relative_to(cli.run_dir.resolve())),
            step=peek(checkpoint)["global_step"],
            digest=weights_digest(checkpoint),
        ),
        skipped_steps=trained.skipped_steps,
        seconds=trained.seconds,
        checkpoint_seconds=trained.checkpoint_seconds,
        device=device_name(cli.trainer.strategy.root_device),
        command=recorded_command(cli.run.words),
        finished=datetime.now().astimezone().isoformat(timespec="seconds"),
    )
    # write the whole record, because somebody may have removed the folder with the part that was written at the start
    update_record(
        cli.run_dir,
        identity=history.identity,
        changes=list(history.changes),
        state=None,
        result=result,
        asked=digest,
    )
    _logger.info(f"{cli.run.label}: {', '.join(_summary(cli, result, history))}")


def _summary(cli: RunCLI, result: RunResult, history: History) -> list[str]:
    """Say how a run ended: its numbers, remarks, time and memory."""
    further = {f"{test}/video_top1" for test in FURTHER_TESTS}  # each with one number
    shown = [key for key in result.metrics if key.startswith("test/") or key in further]
    scores = ", ".join(f"{key} {result.metrics[key]:z.1f}" for key in shown)
    tested = f"{scores} on {plural(result.test_videos, 'video')}" if result.test_videos else "trained, not tested"
    run = FinishedRun(cli.run_dir, result, history.identity, history.changes, result.overridden or {})
    texts = [tested, *remarks(run), f"{result.seconds:.0f} s"]

    device = cli.trainer.strategy.root_device
    if device.type == "cuda":
        texts.append(f"peak of GPU memory {torch.cuda.max_memory_allocated(device) / 1e9:.1f} GB")
    return texts
