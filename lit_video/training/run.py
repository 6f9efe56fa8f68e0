"""Train and test one row with one seed, from its last checkpoint if there is one, and write the result."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import torch
from lightning.pytorch.callbacks import BatchSizeFinder, Callback, LearningRateFinder, WeightAveraging
from torch import nn

from lit_video.datamodules import TemporalSkills
from lit_video.datamodules.checks import refuse_choice, refuse_copies
from lit_video.errors import RunFailed, UserError
from lit_video.runs.chosen_checkpoint import LAST
from lit_video.runs.folder import RUN, has_result, read_run, update_run
from lit_video.runs.history import History
from lit_video.runs.lock import owned
from lit_video.runs.result import remarks
from lit_video.runs.status import Status, write_status
from lit_video.schemes.reach import reach
from lit_video.tables.reading import write_origin
from lit_video.tables.results import refuse_apart
from lit_video.training.callbacks.checkpoints import Stopped, metrics_of, refuse_not_finite
from lit_video.training.checkpoint_file import best_checkpoint, peek, remove_later, usable_checkpoint
from lit_video.training.cli import CheckCLI, user_errors
from lit_video.training.command_line import recorded_command
from lit_video.training.finished import ASKED, FinishedRuns, asked
from lit_video.training.global_batch import check_scaling
from lit_video.training.identity import ask, overridden, take_trained, weights_digest
from lit_video.training.ignored import refuse_ignored
from lit_video.training.learned import learned
from lit_video.training.monitors import refuse_unknown_values, refuse_wrong_mode
from lit_video.training.needs import needs
from lit_video.training.request import Run
from lit_video.training.run_cli import RunCLI, as_list
from lit_video.training.run_end import failures, leave, write_end
from lit_video.training.stills import start_from_stills
from lit_video.utils.environment import device_name
from lit_video.utils.processes import first_process, started_by_lightning
from lit_video.utils.stop_signals import DONE, FAILED, STATUS, StopSignals
from lit_video.utils.text import plural
from lit_video.video.trained_on import seen


def is_done(run: Run, known: FinishedRuns | None = None) -> bool:
    """Return whether a run has a result, after at least as much training as requested."""
    if known and known.knows(run):
        return True
    cli = checked_row(run)
    record = ask(run, cli)
    if not record.finished:
        _refuse_tested(run, cli)
    elif known:
        known.learn(run, record)
    return record.finished


def run_row(run: Run, stops: StopSignals) -> int:
    """Train and test a run, from its last checkpoint if there is one; return the exit status."""
    run_dir, stops.name = run.folder, run.label
    if not first_process():  # another rank, started by Lightning, torchrun or Slurm
        return DONE if is_done(run) else _to_the_end(run, stops)
    cli = checked_row(run)
    with owned(run_dir, run.name):
        write_origin(run_dir.parents[1], run.request.configs, run.request.recipe)
        record = ask(run, cli)
        if not record.finished:
            _refuse_tested(run, cli)
            refuse_apart(run.request.table, run.request.folder, run.row.name, record.identity, run.origin())
            if has_result(run_dir):  # result of a shorter training
                (run_dir / RUN).replace(run_dir / f"run.step{read_run(run_dir)['result']['steps']}.json")
            elif run.request.reuse:
                record = take_trained(run, record.identity) or record
        for change in record.news:
            print(f"{run_dir}: {change}", flush=True)
        if record.finished:
            print(f"{run.label}: finished, skipped (see {run_dir / RUN})")
            return DONE
        stops.last_words = lambda stop, line: leave(run_dir, STATUS[stop], line)
        write_status(run_dir, Status("starting"))
        return _to_the_end(run, stops, record)


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


def _to_the_end(run: Run, stops: StopSignals, record: History | None = None) -> int:
    """Train and test; report an early end. The process with ``record`` also writes the end to ``run.json``."""
    try:
        with failures():
            _train_and_test(run, stops, record)
        return DONE
    except Stopped as stop:
        if record:
            print(f"{run.label}: {stop}", flush=True)
            leave(run.folder, stop.status, str(stop), stop.step, stop.steps)
        return DONE if started_by_lightning() else stop.status  # any other status makes Lightning kill rank 0
    except BaseException as error:
        if record:
            reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            write_end(run.folder, "failed", reason)
        if not isinstance(error, RunFailed):
            raise
        print(f"error: {run.label}: {error}", file=sys.stderr, flush=True)
        return FAILED


@contextmanager
def _compiled(network: nn.Module, wanted: bool) -> Iterator[None]:
    """Compile a network in place; parameter names and random draws stay the same."""
    if wanted:
        network.forward = torch.compile(network.forward, options={"fallback_random": True})
    try:
        yield
    finally:
        vars(network).pop("forward", None)  # compiled code would ignore hooks added later


def _train_and_test(run: Run, stops: StopSignals, record: History | None) -> None:
    run_dir = run.folder
    checkpoint = usable_checkpoint(run_dir, owner=record is not None)
    if record:
        remove_later(run_dir, checkpoint)
    if record and not checkpoint:
        record = History(record.identity)
    with user_errors(run.origin):
        cli = RunCLI(run, stops, record)
        if not checkpoint:
            start_from_stills(cli.model, cli.datamodule, run_dir if record else None)
    if record:
        update_run(run_dir, **record.content())
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
    if record:
        _write_result(cli, tested, metrics, record=record, seconds=seconds, skipped_steps=skipped_steps)


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
    cli: RunCLI, checkpoint: Path, metrics: dict[str, float], *, record: History, seconds: float, skipped_steps: int
) -> None:
    """Close the W&B run and write the result into ``run.json``; times and steps are the training's."""
    steps = cli.trainer.global_step
    write_status(cli.run_dir, Status("writing", steps, steps))
    videos, broken = int(metrics.pop("test/videos", 0)), len(cli.datamodule.found_broken.reasons["test"])
    if cli.logger:
        cli.logger.finish(metrics, {"best": checkpoint, "last": cli.run_dir / LAST}.get(cli.config.wandb_artifact))
    known = seen(cli.model.trained_on, cli.datamodule.records("test"))
    counts = cli.datamodule.video_counts
    listed = counts.get("test", counts.get("val", {})).get("listed", len(known))  # also missing videos
    facts = dict(cli.facts)
    if isinstance(data := cli.datamodule, TemporalSkills):
        sight = reach(cli.model.network, data.num_frames, data.image_size)
        # a model that sees which frames are neighbours can exceed the ceiling of models that see an unordered set
        ceiling = data.reversal_ceiling if sight.near else data.blind_ceiling
        facts |= {"reach": sight.frames, "sees_order": sight.order, "sees_near": sight.near, "blind_ceiling": ceiling}
        facts |= needs(data)
        facts["sum_ceilings"] = data.sum_ceilings()
    file = str(checkpoint.resolve().relative_to(cli.run_dir.resolve()))
    result = facts | {
        "metrics": metrics,
        "test_videos": videos,
        "test_broken": broken,
        "test_seen": known.count(True),
        "test_left_out": listed - videos,
        "video_counts": counts,
        "steps": steps,
        "global_batch": cli.global_batch.clips,
        "overridden": overridden(cli.run),
        "weights": {"file": file, "step": peek(checkpoint)["global_step"], "digest": weights_digest(checkpoint)},
        "skipped_steps": skipped_steps,
        "seconds": seconds,
        "checkpoint_seconds": cli.file.waited,
        "device": device_name(cli.trainer.strategy.root_device),
        "command": recorded_command(sys.argv[1:]),
        "finished": datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    # whole: somebody may have removed the folder, and with it what was recorded at the start
    update_run(cli.run_dir, **record.content(), state=None, result=result, **{ASKED: asked(cli.run)})
    scores = ", ".join(f"{key} {value:.1f}" for key, value in metrics.items())
    tested = f"{scores} on {plural(videos, 'video')}" if videos else "trained, not tested"
    ended = [tested, *remarks(result | read_run(cli.run_dir)), f"{seconds:.0f} s"]
    if (device := cli.trainer.strategy.root_device).type == "cuda":
        ended.append(f"peak of GPU memory {torch.cuda.max_memory_allocated(device) / 1e9:.1f} GB")
    print(f"{cli.run.label}: {', '.join(filter(None, ended))}", flush=True)
