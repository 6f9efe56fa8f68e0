"""Train and test one row with one seed, from its last checkpoint if there is one, and write the result."""

import logging

from lit_video.engine.checkpoints import Stopped, remove_later, usable_checkpoint
from lit_video.errors import RunFailed, RunStopped, UserError
from lit_video.experiment.cli import Built, user_errors
from lit_video.experiment.identity import FinishedRuns, ask, take_trained
from lit_video.experiment.request import Run
from lit_video.experiment.spec import Spec
from lit_video.runs.folder import RUN, has_result, read_record, update_record, write_status
from lit_video.runs.history import History
from lit_video.runs.lock import owned
from lit_video.runs.record import Status
from lit_video.tables.reading import write_origin
from lit_video.tables.results import refuse_apart
from lit_video.training.check import checked, refuse_tested
from lit_video.training.fit import compiled, fit_model
from lit_video.training.measure import measure
from lit_video.training.process_state import process_as_before
from lit_video.training.run_end import failures, leave, write_end
from lit_video.training.stills import start_from_stills
from lit_video.training.trainer import Training
from lit_video.training.write_result import write_result
from lit_video.utils.processes import STATUS, StopSignals, first_process

_logger = logging.getLogger(__name__)


def is_done(run: Run, finished: FinishedRuns | None = None) -> bool:
    """Return whether a run has a result, after at least as much training as requested."""
    if finished and finished.knows(run):
        return True
    return _is_done(finished.specs.of(run) if finished else Spec(run), finished)


def _is_done(spec: Spec, finished: FinishedRuns | None = None) -> bool:
    built = checked(spec)
    history = ask(spec, built.datamodule)
    if not history.finished:
        refuse_tested(spec.run, built)
    elif finished:
        finished.learn(history)
    return history.finished


@process_as_before()
def run_row(run: Run, stops: StopSignals) -> None:
    """Train and test a run, from its last checkpoint if there is one.

    Raises:
        UserError: something must be changed before the run can start.
        RunFailed: the run ended without a result.
        RunStopped: the run stopped at a checkpoint.
    """
    stops.name = run.label
    spec = Spec(run)
    if not first_process():  # another rank, started by Lightning, torchrun or Slurm
        if not _is_done(spec):
            _to_the_end(spec, stops)
        return

    built = checked(spec)
    run_dir = run.folder
    with owned(run_dir, run.name):
        write_origin(run_dir.parents[1], run.request.configs, run.request.recipe)
        history = _history_to_go_on(spec, built)
        for change in history.news:
            _logger.info(f"{run_dir}: {change}")
        if history.finished:
            _logger.info(f"{run.label}: finished, skipped (see {run_dir / RUN})")
            return

        stops.last_words = lambda stop, line: leave(run_dir, STATUS[stop], line)
        write_status(run_dir, Status("starting"))
        _to_the_end(spec, stops, history)


def _history_to_go_on(spec: Spec, built: Built) -> History:
    """Return the history with which a run begins or goes on.

    A run that could not be compared with finished ones is refused. With ``--reuse``, the training of another run is
    taken.
    """
    run = spec.run
    history = ask(spec, built.datamodule)
    if history.finished:
        return history

    request = run.request
    refuse_tested(run, built)
    _refuse_apart(run, history)
    if has_result(run.folder):  # a shorter training has a result; this one is tested again and gets a new record
        shorter = read_record(run.folder).result
        if shorter:
            (run.folder / RUN).replace(run.folder / f"run.step{shorter.steps}.json")
    elif request.reuse:
        history = take_trained(run, history.identity) or history
    return history


def _refuse_apart(run: Run, history: History) -> None:
    """Refuse a run that cannot be compared with the finished ones of its table."""
    request = run.request
    refuse_apart(request.table, request.folder, run.row.name, now=history.identity, where=run.origin())


def _to_the_end(spec: Spec, stops: StopSignals, history: History | None = None) -> None:
    """Train and test, and report an early end; the process with ``history`` also writes it to ``run.json``."""
    run = spec.run
    try:
        with failures():
            _train_and_test(spec, stops, history)

    except Stopped as stop:
        if history is None:  # whoever started the ranks kills rank 0, which is still writing, if another rank fails
            return
        _logger.info(f"{run.label}: {stop}")
        leave(run.folder, stop.status, str(stop), step=stop.step, steps=stop.steps)
        raise RunStopped(f"{run.label}: {stop}", stop.status) from stop

    except BaseException as error:
        if history:
            reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            write_end(run.folder, "failed", reason)
        if not isinstance(error, RunFailed):
            raise
        raise RunFailed(f"{run.label}: {error}") from error


def _train_and_test(spec: Spec, stops: StopSignals, history: History | None) -> None:
    """Train from the last checkpoint if there is one, test, and write the result if the process has ``history``."""
    run_dir = spec.run.folder
    checkpoint = usable_checkpoint(run_dir, owner=history is not None)
    if history:
        remove_later(run_dir, checkpoint)
        if not checkpoint:
            history = History(history.identity)

    training = Training(spec, stops, history)
    if not checkpoint:
        with user_errors(spec.run.origin):
            start = start_from_stills(training.model, training.datamodule, run_dir if history else None)
        if history:
            history = history.with_weights(start)
            _refuse_apart(spec.run, history)
            training.note(history)
    if history:
        update_record(run_dir, identity=history.identity, changes=list(history.changes))
        write_status(run_dir, Status("preparing data"))

    with compiled(training.model.network, training.config.compile == "full"):
        trained = fit_model(training, checkpoint)
        if trained is None:
            return
        metrics = measure(training, trained.checkpoint)
    if history:
        write_result(training, trained, metrics, history)
