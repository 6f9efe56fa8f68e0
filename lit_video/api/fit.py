"""Train and test the rows of a table."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from lit_video.api.arguments import File, Files, Rows, request_for
from lit_video.errors import RunFailed, UserError
from lit_video.experiment.request import Request, Run
from lit_video.launching.queue import HERE, run_here, slots
from lit_video.settings.flags import Settings
from lit_video.settings.nested import Nested
from lit_video.tables.rendering import summary_parts
from lit_video.tables.summary import TableRuns, read_runs
from lit_video.utils.arguments import Count, refuse_wrong_values
from lit_video.utils.processes import StopSignals, first_process, handled_by
from lit_video.utils.startup import set_up_process
from lit_video.utils.text import Part, Shown


@dataclass(frozen=True, repr=False)
class Fitted(Shown):
    """Finished runs of a table's rows and seeds."""

    request: Request

    @property
    def folders(self) -> list[Path]:
        """Folders of the runs, ordered by seed, then by row; each is a ``ckpt`` of other functions."""
        return [run.folder for run in self.request.runs]

    @cached_property
    def read(self) -> TableRuns:
        """Results and predictions of these seeds' runs, also of rows that were run before."""
        request = self.request
        return read_runs(request.table, request.folder, request.seeds, overridden=True)

    @property
    def metrics(self) -> dict[str, dict[str, float]]:
        """Means over these seeds in percent, by row and metric."""
        means: dict[str, dict[str, float]] = {}
        for row in self.read.data.rows:
            for key, numbers in row.metrics.items():
                if numbers.ours is not None:
                    means.setdefault(row.name, {})[key] = numbers.ours
        return means

    @property
    def report_command(self) -> str:
        """Command that writes a page of the runs."""
        command = f"lit_video report {shlex.quote(str(self.request.folder / self.request.table.name))}"
        if any(run.overridden for run in self.read.finished):
            command += " --overridden"
        return command

    def parts(self) -> Sequence[Part]:
        """Return the table's parts, and where the runs are."""
        folder = self.request.folder / self.request.table.name / self.request.table.scale
        return [*summary_parts(self.read.data), f"runs: {folder}; a page of them: {self.report_command}"]


def fit(
    table: Files,
    overlays: Files = (),
    rows: Rows | None = None,
    *,
    seeds: Iterable[int] = (0,),
    settings: Settings = (),
    recipe: str | None = None,
    runs: File = "runs",
    jobs: Count = 1,
    reuse: bool = False,
) -> Fitted:
    """Train and test every row of a table.

    Finished rows are skipped and interrupted rows resume: repeating the same call is always safe. One run is trained in
    this process, several in processes of their own.

    Args:
        table: name or path of the table's YAML, such as ``ablation_tw``.
        overlays: names or paths of files of a scale, such as ``scale/ssv2``, then of your own, which win over rows.
        rows: names or numbers of some rows; ``None`` for all.
        seeds: seeds of each row.
        settings: nested data as in a YAML file, over files and rows: ``{"trainer": {"max_epochs": 2}}``.
        recipe: the scale's recipe where the paper and its code disagree.
        runs: folder of the runs.
        jobs: number of runs at once.
        reuse: train rows with equal training settings once, also across tables.

    Raises:
        UserError: an argument, a file or a row is wrong; every row is checked before the first one is trained.
        RunFailed: a run ended without a result; ``fitted`` has the others.
        RunStopped: a signal or a time limit stopped a run at a checkpoint; the same call goes on.
    """
    refuse_wrong_values(fit, locals())
    request = partial(
        request_for, table, overlays, rows, seeds=seeds, settings=settings, recipe=recipe, runs=runs, reuse=reuse
    )
    return fit_for("fit", request, jobs=jobs, reuse=reuse)


def fit_for(command: str, make_request: Callable[[], Request], *, jobs: int, reuse: bool = False) -> Fitted:
    """Train and test the rows of a request, see :func:`fit`; messages begin with the ``command`` that was called.

    The request is made with the command's signals in place, so that Ctrl-C says that nothing is lost.
    """
    set_up_process()
    stops = StopSignals(command)
    with handled_by(stops.handle):
        request = make_request()
        for row in request.rows:
            Run(request, row, request.seeds[0]).refuse_early()
        if request.single:
            from lit_video.training.run import run_row  # here, because importing torch takes seconds

            run_row(request.runs[0], stops)
            return Fitted(request)

    if not first_process():
        raise UserError("several runs: a process of torchrun or srun trains only one; name it by --row and --seeds")
    if "WANDB_SWEEP_ID" in os.environ:
        raise UserError("several runs: a trial of a W&B sweep trains only one; name it by --row and --seeds")
    fitted = Fitted(request)
    try:
        run_here(command, request.runs, [HERE] if jobs == 1 else slots(jobs, None), reuse=reuse)
    except RunFailed as error:
        error.fitted = fitted
        raise
    return fitted


def row_settings(
    table: Files,
    overlays: Files = (),
    rows: Rows | None = None,
    *,
    seeds: Iterable[int] = (0,),
    settings: Settings = (),
    recipe: str | None = None,
    runs: File = "runs",
) -> dict[str, Nested]:
    """Return all settings of every row and seed, resolved, by the run's name; see :func:`fit`."""
    request = request_for(table, overlays, rows, seeds=seeds, settings=settings, recipe=recipe, runs=runs)

    from lit_video.experiment.spec import Specs  # here, because importing torch takes seconds

    resolved = {}
    for spec in map(Specs().of, request.runs):
        spec.build("meta")
        resolved[spec.run.name] = spec.settings
    return resolved
