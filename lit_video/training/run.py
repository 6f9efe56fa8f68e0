"""Train and test one row with one seed, from its last checkpoint if there is one, and write the result."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import torch
from lightning.pytorch.callbacks import BatchSizeFinder, Callback, LearningRateFinder, WeightAveraging
from torch import nn

from lit_video.datamodules import TemporalSkills
from lit_video.datamodules.checks import refuse_choice, refuse_copies
from lit_video.errors import RunFailed, RunStopped, UserError
from lit_video.runs.chosen_checkpoint import LAST
from lit_video.runs.finished import FinishedRun, remarks
from lit_video.runs.folder import RUN, has_result, read_record, update_record
from lit_video.runs.history import History
from lit_video.runs.lock import owned
from lit_video.runs.record import Status
from lit_video.runs.result import RunResult, TestedWeights, VideoCount
from lit_video.runs.status import write_status
from lit_video.schemes.reach import reach
from lit_video.tables.reading import write_origin
from lit_video.tables.results import refuse_apart
from lit_video.training.callbacks.checkpoints import Stopped, metrics_of, refuse_not_finite
from lit_video.training.checkpoint_file import best_checkpoint, peek, remove_later, usable_checkpoint
from lit_video.training.cli import CheckCLI, user_errors
from lit_video.training.command_line import recorded_command
from lit_video.training.finished import FinishedRuns, asked
from lit_video.training.global_batch import check_scaling
from lit_video.training.identity import ask, overridden, take_trained, weights_digest
from lit_video.training.ignored import refuse_ignored
from lit_video.training.learned import learned
from lit_video.training.monitors import refuse_unknown_values, refuse_wrong_mode
from lit_video.training.needs import needs
from lit_video.training.request import Run
from lit_video.training.run_end import failures, leave, write_end
from lit_video.training.stills import start_from_stills
from lit_video.training.trainer import RunCLI, as_list
from lit_video.utils.environment import device_name
from lit_video.utils.processes import first_process, started_by_lightning
from lit_video.utils.stop_signals import STATUS, StopSignals
from lit_video.utils.text import plural
from lit_video.video.trained_on import seen

_logger = logging.getLogger(__name__)


def is_done(run: Run, known: FinishedRuns | None = None) -> bool:
    """Return whether a run has a result, after at least as much training as requested."""
    if known and known.knows(run):
        return True
    cli = checked_row(run)
    history = ask(run, cli)
    if not history.finished:
        _refuse_tested(run, cli)
    elif known:
        known.learn(run, history)
    return history.finished


def run_row(run: Run, stops: StopSignals) -> None:
    """Train and test a run, from its last checkpoint if there is one.

    Raises:
        UserError: something must be changed before the run can start.
        RunFailed: the run ended without a result.
        RunStopped: the run stopped at a checkpoint.
    """
    run_dir, stops.name = run.folder, run.label
    if not first_process():  # another rank, started by Lightning, torchrun or Slurm
        if not is_done(run):
            _to_the_end(run, stops)
        return
    cli = checked_row(run)
    with owned(run_dir, run.name):
        write_origin(run_dir.parents[1], run.request.configs, run.request.recipe)
        history = ask(run, cli)
        if not history.finished:
            _refuse_tested(run, cli)
            refuse_apart(run.request.table, run.request.folder, run.row.name, history.identity, run.origin())
            if has_result(run_dir):  # result of a shorter training
                _set_shorter_aside(run_dir)
            elif run.request.reuse:
                history = take_trained(run, history.identity) or history
        for change in history.news:
            _logger.info(f"{run_dir}: {change}")
        if history.finished:
            _logger.info(f"{run.label}: finished, skipped (see {run_dir / RUN})")
            return
        stops.last_words = lambda stop, line: leave(run_dir, STATUS[stop], line)
        write_status(run_dir, Status("starting"))
        _to_the_end(run, stops, history)


def _set_shorter_aside(run_dir: Path) -> None:
    """Rename the record of a shorter training, which is measured anew once it is longer."""
    result = read_record(run_dir).result
    if result:
        (run_dir / RUN).replace(run_dir / f"run.step{result.steps}.json")


def build_row(run: Run, build: type[CheckCLI] = CheckCLI) -> CheckCLI:
    """Build data set and model of a row, by default on the meta device."""
    request = run.request
    given = [(setting.key, setting.value) for setting in request.given]
    refuse_ignored(request.configs, [*run.row.settings.items(), *given], run.origin(), run.seed)
    with user_errors(run.origin):
        return build(run.settings)


def checked_row(run: Run) -> CheckCLI:
    """Build data set and model of a row on the meta device; check starting weights, data and trainer."""
    cli = build_row(run)
    with user_errors(run.origin):
        if not (run.folder / RUN).exists():  # a resumed run no longer reads starting weights
            cli.model.check_image_weights()
            run.refuse_unfinished_start(cli.model.weights)
        cli.datamodule.check()
        callbacks = as_list(cli.config_init.trainer.callbacks)
        _refuse_searches(callbacks)
        refuse_wrong_mode(callbacks)
        refuse_unknown_values(callbacks, cli.model)
        refuse_copies(cli.datamodule)
        check_scaling(cli.config.trainer, cli.config.global_batch, cli.datamodule.batch_size)
    return cli


def _refuse_tested(run: Run, cli: CheckCLI) -> None:
    """Refuse callbacks that choose by test videos, once the videos exist; TemporalSkills draws its splits apart."""
    if not isinstance(cli.datamodule, TemporalSkills):
        with user_errors(run.origin):
            refuse_choice(cli.datamodule, as_list(cli.config_init.trainer.callbacks))


def _refuse_searches(callbacks: list[Callback]) -> None:
    """Refuse callbacks that search for a setting: the record would differ, and a resumed run would search again."""
    for callback in callbacks:
        if isinstance(callback, LearningRateFinder | BatchSizeFinder):
            reason = "the run would record another setting than it uses, and search again when it resumes"
            advice = "search in Python (docs/recipes.md), then set model.optimization.lr or data.batch_size"
            raise UserError(f"trainer.callbacks: {type(callback).__name__}: {reason}; {advice}")


def _to_the_end(run: Run, stops: StopSignals, history: History | None = None) -> None:
    """Train and test; report an early end. The process with ``history`` also writes the end to ``run.json``."""
    try:
        with failures():
            _train_and_test(run, stops, history)
    except Stopped as stop:
        if history:
            _logger.info(f"{run.label}: {stop}")
            leave(run.folder, stop.status, str(stop), stop.step, stop.steps)
        if not started_by_lightning():  # Lightning kills rank 0 if another rank fails
            raise RunStopped(f"{run.label}: {stop}", stop.status) from stop
    except BaseException as error:
        if history:
            reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            write_end(run.folder, "failed", reason)
        if not isinstance(error, RunFailed):
            raise
        raise RunFailed(f"{run.label}: {error}") from error


@contextmanager
def _compiled(network: nn.Module, wanted: bool) -> Iterator[None]:
    """Compile a network in place; parameter names and random draws stay the same."""
    if wanted:
        network.forward = torch.compile(network.forward, options={"fallback_random": True})
    try:
        yield
    finally:
        vars(network).pop("forward", None)  # compiled code would ignore hooks added later


def _train_and_test(run: Run, stops: StopSignals, history: History | None) -> None:
    run_dir = run.folder
    checkpoint = usable_checkpoint(run_dir, owner=history is not None)
    if history:
        remove_later(run_dir, checkpoint)
    if history and not checkpoint:
        history = History(history.identity)
    with user_errors(run.origin):
        cli = RunCLI(run, stops, history)
        if not checkpoint:
            start_from_stills(cli.model, cli.datamodule, run_dir if history else None)
    if history:
        update_record(run_dir, identity=history.identity, changes=list(history.changes))
        write_status(run_dir, Status("preparing data"))
    with _compiled(cli.model.network, cli.config.compile == "full"):
        cli.trainer.fit(cli.model, cli.datamodule, ckpt_path=checkpoint, weights_only=True)
        if cli.config.trainer.fast_dev_run:
            cli.trainer.test(cli.model, cli.datamodule, verbose=False)
            return
        # before the test, whose checkpoint may be an earlier one, and restores the state of callbacks
        seconds = cli.timer.time_elapsed("train")
        skipped_steps = cli.finite.skipped
        last = run_dir / LAST
        if (step := peek(last)["global_step"]) != cli.trainer.global_step:
            raise RunFailed(f"{last} is of step {step}, training ended at step {cli.trainer.global_step}: no result")
        tested = best_checkpoint(cli.trainer) or last
        metrics = _measure(cli, tested)
    if history:
        _write_result(cli, tested, metrics, history=history, seconds=seconds, skipped_steps=skipped_steps)


def _measure(cli: RunCLI, checkpoint: Path) -> dict[str, float]:
    """Test a checkpoint, then once more for each order of frames in ``test_orders``; refuse non-finite metrics."""
    for callback in cli.trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, WeightAveraging):  # test the checkpoint's averaged weights
            callback.on_load_checkpoint = lambda *args: None  # type: ignore[method-assign]
    metrics = _tested(cli, checkpoint) | cli.predictions.calibration_error
    cli.trainer.loggers = []  # further tests are not logged
    metrics |= learned(cli.trainer, cli.model, cli.datamodule, checkpoint)
    for order in cli.datamodule.test_orders:
        cli.datamodule.order = order
        for key, value in _tested(cli, checkpoint).items():
            metrics[f"{order}/{key.removeprefix('test/')}"] = value
        metrics.pop(f"{order}/videos", None)
    refuse_not_finite(metrics, f"test of {checkpoint}")
    return metrics


def _tested(cli: RunCLI, checkpoint: Path) -> dict[str, float]:
    cli.trainer.test(cli.model, cli.datamodule, ckpt_path=checkpoint, verbose=False)
    return metrics_of(cli.trainer, "test/") | cli.predictions.accuracies(cli.datamodule)


def _write_result(
    cli: RunCLI, checkpoint: Path, metrics: dict[str, float], *, history: History, seconds: float, skipped_steps: int
) -> None:
    """Close the W&B run and write the result into ``run.json``; times and steps are the training's."""
    steps = cli.trainer.global_step
    write_status(cli.run_dir, Status("writing", steps, steps))
    videos = int(metrics.pop("test/videos", 0))
    if cli.logger:
        cli.logger.finish(metrics, {"best": checkpoint, "last": cli.run_dir / LAST}.get(cli.config.wandb_artifact))

    known = seen(cli.model.trained_on, cli.datamodule.records("test"))
    counts = {split: VideoCount(**count) for split, count in cli.datamodule.video_counts.items()}
    tested = counts.get("test") or counts.get("val")
    listed = tested.listed if tested else len(known)  # also missing videos
    limits = _limits(cli)
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
        reach=limits.reach,
        sees_order=limits.sees_order,
        sees_near=limits.sees_near,
        blind_ceiling=limits.blind_ceiling,
        steps_shown=limits.steps_shown,
        needed_reach=limits.needed_reach,
        sum_ceilings=limits.sum_ceilings,
        metrics=metrics,
        test_videos=videos,
        test_broken=len(cli.datamodule.found_broken.reasons["test"]),
        test_seen=known.count(True),
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
        skipped_steps=skipped_steps,
        seconds=seconds,
        checkpoint_seconds=cli.file.waited,
        device=device_name(cli.trainer.strategy.root_device),
        command=recorded_command(cli.run.words),
        finished=datetime.now().astimezone().isoformat(timespec="seconds"),
    )
    # whole: somebody may have removed the folder, and with it what was recorded at the start
    update_record(
        cli.run_dir,
        identity=history.identity,
        changes=list(history.changes),
        state=None,
        result=result,
        asked=asked(cli.run),
    )
    _logger.info(f"{cli.run.label}: {', '.join(_summary(cli, result, history))}")


@dataclass(frozen=True)
class _Limits:
    """Sight of a model and needs of TemporalSkills; ``None`` on other data. See :class:`RunResult`."""

    reach: int | None = None
    sees_order: bool | None = None
    sees_near: bool | None = None
    blind_ceiling: float | None = None
    steps_shown: float | None = None
    needed_reach: int | None = None
    sum_ceilings: Mapping[str, float] | None = None


def _limits(cli: RunCLI) -> _Limits:
    """Measure the limits of a model on TemporalSkills."""
    data = cli.datamodule
    if not isinstance(data, TemporalSkills):
        return _Limits()
    sight = reach(cli.model.network, data.num_frames, data.image_size)
    shown = needs(data)
    return _Limits(
        reach=sight.frames,
        sees_order=sight.order,
        sees_near=sight.near,
        # a model that sees which frames are neighbours can exceed the ceiling of models that see an unordered set
        blind_ceiling=data.reversal_ceiling if sight.near else data.blind_ceiling,
        steps_shown=shown.steps_shown,
        needed_reach=shown.reach,
        sum_ceilings=data.sum_ceilings(),
    )


def _summary(cli: RunCLI, result: RunResult, history: History) -> list[str]:
    """Say how a run ended: its numbers, remarks, time and memory."""
    scores = ", ".join(f"{key} {value:.1f}" for key, value in result.metrics.items())
    tested = f"{scores} on {plural(result.test_videos, 'video')}" if result.test_videos else "trained, not tested"
    run = FinishedRun(cli.run_dir, result, history.identity, history.changes, result.overridden or {})
    texts = [tested, *remarks(run), f"{result.seconds:.0f} s"]

    device = cli.trainer.strategy.root_device
    if device.type == "cuda":
        texts.append(f"peak of GPU memory {torch.cuda.max_memory_allocated(device) / 1e9:.1f} GB")
    return texts
