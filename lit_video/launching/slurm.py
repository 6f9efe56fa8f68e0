"""Runs as Slurm arrays, submitted by submitit.

submitit writes and submits the array; its task replaces itself by the run, so that none of submitit's handlers of
signals is left and the run answers Slurm's signals itself. What submitit would return is not used: a run's folder says
how it ended.
"""

import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from io import StringIO
from itertools import groupby
from pathlib import Path

from lit_video.errors import UserError
from lit_video.launching.resources import Resources
from lit_video.launching.tickets import Ticket, write_ticket
from lit_video.launching.work import Run


def check_slurm() -> None:
    """Find out whether runs can be submitted from here.

    Raises:
        UserError: submitit is not installed, or this machine has no Slurm.
    """
    try:
        import submitit  # noqa: F401
    except ImportError:
        raise UserError("--launcher slurm: submitit is not installed; pip install 'lit_video[slurm]'") from None
    if missing := [name for name in ("sbatch", "squeue", "srun") if not shutil.which(name)]:
        raise UserError(
            f"--launcher slurm: no {missing[0]} here; take a login node of the cluster, or --launcher print"
        )


def submit(runs: Sequence[Run], resources: Resources, tell: Callable[[str], None]) -> None:
    """Submit one array per table, and keep the number of its job in every run's folder.

    Raises:
        UserError: Slurm refuses it; what was submitted before stays submitted.
    """
    for name, group in groupby(runs, lambda run: run.request.table.name):
        array = list(group)
        jobs = _submit_array(name, array, resources)
        for run, job in zip(array, jobs, strict=True):
            write_ticket(run.folder, Ticket(job=job))
        tell(f"{name}: {len(array)} runs submitted as job {jobs[0].partition('_')[0]}")


def _submit_array(name: str, runs: Sequence[Run], resources: Resources) -> list[str]:
    """Numbers of the jobs, in the order of the runs."""
    from submitit import SlurmExecutor
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    executor = SlurmExecutor(runs[0].request.runs / ".sweep")
    executor.update_parameters(
        time=None,  # the partition's, not submitit's five minutes
        wckey=None,
        job_name=name,
        srun_args=resources.srun,
        array_parallelism=resources.parallel or len(runs),
        additional_parameters={key.replace("-", "_"): value for key, value in resources.sbatch(name).items()},
    )
    try:
        with redirect_stderr(StringIO()), executor.batch():  # where submitit prints what it raises, too
            jobs = [executor.submit(os.execv, "/bin/sh", ["sh", "-c", logged(run.command, run.log)]) for run in runs]
    except (FailedJobError, FailedSubmissionError, OSError) as error:
        lines = [line.removeprefix("sbatch: error: ") for line in str(error).strip().splitlines()]
        raise UserError(f"--launcher slurm: sbatch: {'; '.join(lines)}") from error
    return [str(job.job_id) for job in jobs]


def logged(command: Sequence[str], log: Path) -> str:
    """A line for the shell that becomes the command, its output added to a log."""
    return f"exec {shlex.join(command)} >> {shlex.quote(str(log))} 2>&1"
