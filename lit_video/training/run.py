"""Trains and tests one row with one seed, from its last checkpoint if there is one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from lit_video.errors import RunFailed, UserError
from lit_video.runs.files import RUN, update_run
from lit_video.runs.folder import disk_errors, locked, set_aside, set_result_aside, writable
from lit_video.runs.identity import Identity, Record
from lit_video.runs.status import Status, write_status
from lit_video.tables.reading import write_origin
from lit_video.tables.results import refuse_apart
from lit_video.training.callbacks.checkpoints import Stopped
from lit_video.training.checkpoint_file import LAST, PREVIOUS, best_checkpoint, peek, usable_checkpoint
from lit_video.training.cli import CheckCLI, refuse_ignored, user_errors
from lit_video.training.global_batch import check_scaling
from lit_video.training.identity import ask, checkpoint_record
from lit_video.training.request import Run
from lit_video.training.result import measure, write_result
from lit_video.training.reuse import take_trained
from lit_video.training.run_cli import RunCLI, as_list, refuse_searches
from lit_video.training.run_end import exit_status, failures, leave, say_dead_ranks, stopped, write_end
from lit_video.training.stills import start_from_stills
from lit_video.utils.processes import first_process, started_by_lightning
from lit_video.utils.stop_signals import DONE, FAILED, STATUS, StopSignals


def is_done(run: Run) -> bool:
    """Return whether there is a result, and no longer training is asked for."""
    return ask(run, checked_row(run)).done


def run_row(run: Run, stops: StopSignals) -> int:
    """Train and test a row with a seed, from its last checkpoint if there is one; returns the exit status."""
    run_dir, stops.name = run.folder, run.label
    if not first_process():  # one of several, started by Lightning, torchrun or Slurm
        return DONE if is_done(run) else _guarded(run, stops)
    cli = checked_row(run)
    writable(run_dir)
    with disk_errors(run_dir), locked(run_dir, run.name):
        set_aside(run_dir)
        write_origin(run_dir.parents[1], run.request.configs, run.request.recipe)
        asked = ask(run, cli)
        if asked.done:
            code = "".join(f"; {each}" for each in asked.differences if each.kind == "code")
            print(f"{run.label}: finished, skipped (see {run_dir / RUN}{code})")
            return DONE
        refuse_apart(run.request.table, run.request.folder, run.row.name, asked.now, run.place())
        if asked.before and asked.before.finished:
            set_result_aside(run_dir)
        elif run.request.reuse:
            take_trained(run, asked.now)
        stops.last_words = lambda stop, line: leave(run_dir, STATUS[stop], line)
        write_status(run_dir, Status("starting"))
        return _guarded(run, stops, asked.now)


def build_row(run: Run, build: type[CheckCLI] = CheckCLI) -> CheckCLI:
    """Build data set and model of a row, by default on the meta device."""
    refuse_ignored(run.flags, run.place())
    with user_errors(run.place):
        return build(run.flags)


def checked_row(run: Run) -> CheckCLI:
    """Build data set and model of a row, and check that data and trainer fit too."""
    cli = build_row(run)
    with user_errors(run.place):
        if not (run.folder / RUN).exists():  # a run that goes on reads them no more
            cli.model.check_image_weights()
            run.refuse_unfinished_start(cli.model.weights)
        cli.datamodule.check()
        refuse_searches(cli.config_init.trainer.callbacks)
        cli.datamodule.refuse_choice(as_list(cli.config_init.trainer.callbacks))
        check_scaling(cli.config.trainer, cli.config.global_batch, cli.datamodule.batch_size)
    return cli


def _guarded(run: Run, stops: StopSignals, now: Identity | None = None) -> int:
    """Train and test; whatever ends it early is said in a line, and in ``run.json``.

    ``now`` is what the run is, in the process that owns its folder.
    """
    name = run.label
    if now:
        say_dead_ranks(run.folder, name)
    try:
        with failures():
            return _train_and_test(run, stops, now)
    except Stopped as stop:
        if now:
            return stopped(stop, run.folder, name)
        return DONE if started_by_lightning() else exit_status(stop.reason)  # or Lightning kills rank 0
    except BaseException as error:
        if now:
            reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            write_end(run.folder, "failed", reason)
        if not isinstance(error, RunFailed):
            raise
        print(f"error: {name}: {error}", file=sys.stderr, flush=True)
        return FAILED


@contextmanager
def _compiled(network: nn.Module, wanted: bool) -> Iterator[None]:
    """Compile a network in place, which keeps its parameters' names, with the draws of the network as it is."""
    if wanted:
        network.forward = torch.compile(network.forward, options={"fallback_random": True})
    try:
        yield
    finally:
        vars(network).pop("forward", None)  # compiled code knows nothing of hooks that come later


def _train_and_test(run: Run, stops: StopSignals, now: Identity | None) -> int:
    run_dir = run.folder
    checkpoint = usable_checkpoint(run_dir, owner=now is not None)
    with user_errors(run.place):
        cli = RunCLI(run, stops, now.commit if now else "")
        if not checkpoint:
            start_from_stills(cli.model, cli.datamodule, run_dir if now else None)
    if now:
        record = checkpoint_record(checkpoint).going_on(run_dir, now) if checkpoint else Record(now)
        cli.checkpoints.record = record.content()
        update_run(run_dir, **record.content())
        write_status(run_dir, Status("preparing data"))
    with _compiled(cli.model.network, cli.config.compile == "full"):
        cli.trainer.fit(cli.model, cli.datamodule, ckpt_path=checkpoint, weights_only=True)
        if cli.config.trainer.fast_dev_run:
            cli.trainer.test(cli.model, cli.datamodule, verbose=False)
            return DONE
        seconds = cli.timer.time_elapsed("train")  # the test loads the checkpoint's, which are added to these
        last, previous = run_dir / LAST, run_dir / PREVIOUS
        final = last if last.exists() else previous  # last.ckpt was damaged after training had ended
        if (step := peek(final)["global_step"]) != cli.trainer.global_step:
            raise RunFailed(f"{final} is of step {step}, training ended at {cli.trainer.global_step}: no result")
        tested = best_checkpoint(cli.trainer) or final
        metrics = measure(cli, tested)
    if now:
        write_result(cli, tested, metrics, seconds)
        if final is last:
            previous.unlink(missing_ok=True)
    return DONE
