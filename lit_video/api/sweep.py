"""Run every row and seed of many tables, here or by Slurm."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lit_video.api.arguments import File, Files, Rows, listed, request_for
from lit_video.errors import UserError
from lit_video.experiment.request import Run
from lit_video.launching.queue import counts, free, observed_runs, progress_table, run_here, slots, unfinished
from lit_video.launching.slurm import Resources, scripts, submit
from lit_video.launching.states import Observed
from lit_video.settings.flags import Settings, UserSetting, as_user_settings
from lit_video.utils.arguments import Count, refuse_wrong_values
from lit_video.utils.text import Part, Shown


@dataclass(frozen=True, repr=False)
class SweepProgress(Shown):
    """How far the runs of some tables are."""

    runs: Sequence[Run]
    scripts: Sequence[str] = ()  # commands and scripts of Slurm's arrays that would be submitted, in a dry run

    @cached_property
    def states(self) -> list[Observed]:
        """State of each run, when it was first looked at."""
        return observed_runs(self.runs)

    def parts(self) -> Sequence[Part]:
        """Return a line for each run, and the number of runs in each state; for a dry run the scripts."""
        if self.scripts:
            return ["\n".join(self.scripts)]
        return [progress_table(self.runs, self.states), counts(self.states)]


def sweep(
    tables: Files,
    overlays: Files = (),
    rows: Rows | None = None,
    *,
    seeds: Iterable[int] = (0,),
    settings: Settings = (),
    recipe: str | None = None,
    runs: File = "runs",
    jobs: Count | None = None,
    gpus_per_run: Count | None = None,
    reuse: bool = False,
    slurm: Resources | None = None,
) -> SweepProgress:
    """Run every row and seed of many tables, here or by Slurm.

    Rows that are finished, running or queued are skipped: repeating the same call is always safe. Mistakes in any
    row are found before anything starts.

    Args:
        tables: names or paths of the tables' YAML files.
        overlays: names or paths of further files for all tables, such as ``scale/ssv2``.
        rows: names or numbers of some rows of every table; ``None`` for all.
        seeds: seeds of each row.
        settings: nested data as in a YAML file, over files and rows.
        recipe: the scale's recipe where the paper and its code disagree.
        runs: folder of the runs.
        jobs: number of runs at once; ``None`` for one per GPU.
        gpus_per_run: GPUs of each run.
        reuse: train rows with equal training settings once, also across tables.
        slurm: resources of each run, to submit the runs as Slurm's arrays; ``None`` to run here.

    Raises:
        UserError: an argument, a file or a row is wrong.
        RunFailed: a run here ended without a result.
        RunStopped: a signal or a time limit stopped runs here at checkpoints.
    """
    refuse_wrong_values(sweep, locals())
    if slurm and reuse:
        raise UserError("--reuse: is for --launcher local")

    all_runs = _runs(
        listed(tables),
        listed(overlays),
        rows=rows,
        seeds=seeds,
        settings=_with_resources(settings, slurm),
        recipe=recipe,
        runs=runs,
        reuse=reuse,
    )
    if not slurm:
        run_here("sweep", all_runs, slots(jobs, gpus_per_run), reuse=reuse)
        return SweepProgress(all_runs)

    to_submit = free(unfinished(all_runs))
    if to_submit:
        submit(to_submit, slurm)
    return SweepProgress(all_runs)


def progress(
    tables: Files,
    overlays: Files = (),
    rows: Rows | None = None,
    *,
    seeds: Iterable[int] = (0,),
    settings: Settings = (),
    recipe: str | None = None,
    runs: File = "runs",
    slurm: Resources | None = None,
) -> SweepProgress:
    """Show how far the runs of a sweep are, or with ``slurm`` the arrays that it would submit; start nothing.

    Arguments and errors: see :func:`lit_video.sweep`.
    """
    all_runs = _runs(
        listed(tables),
        listed(overlays),
        rows=rows,
        seeds=seeds,
        settings=_with_resources(settings, slurm),
        recipe=recipe,
        runs=runs,
    )
    return SweepProgress(all_runs, scripts(all_runs, slurm) if slurm else ())


def _with_resources(settings: Settings, slurm: Resources | None) -> list[UserSetting]:
    return [*as_user_settings(settings), *(slurm.settings if slurm else [])]


def _runs(tables: Sequence[Path], overlays: Sequence[Path], **asked: Any) -> list[Run]:
    """Return the runs of all tables; without a table, those of the overlays. Refuse two tables of one name."""
    files = [[table, *overlays] for table in dict.fromkeys(tables)] or [list(overlays)]
    requests = [request_for(configs, **asked) for configs in files]

    by_name: dict[str, Path] = {}
    for request in requests:
        path = request.configs[0]
        other = by_name.setdefault(request.table.name, path)
        if other != path:
            raise UserError(f"{path}: has the name of {other}, so their runs would share folders; rename one")
    return [run for request in requests for run in request.runs]
