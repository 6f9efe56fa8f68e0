"""Runs as Slurm arrays, submitted by submitit.

submitit writes and submits the array; its task replaces itself by the run, so that none of submitit's handlers of
signals is left and the run answers Slurm's signals itself. What submitit would return is not used: a run's folder says
how it ended.
"""

import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from io import StringIO
from itertools import groupby
from pathlib import Path

from lit_video.errors import UserError
from lit_video.launching.states import Ticket, write_ticket
from lit_video.launching.work import FIT, Run

# a run saves a checkpoint and asks Slurm to queue it again on this signal, which comes this long before the time limit
SIGNAL = "USR1@90"


@dataclass(frozen=True)
class Resources:
    """Resources of one run; ``None`` leaves the choice to Slurm.

    Args:
        nodes: machines.
        gpus_per_node: GPUs on each, and as many processes.
        options: further options of sbatch by their long names, ``time`` or ``cpus-per-task``.
        parallel: runs at the same time.
    """

    nodes: int | None = None
    gpus_per_node: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    parallel: int | None = None

    @property
    def flags(self) -> list[str]:
        """The trainer's devices and nodes, which must agree with Slurm's."""
        flags = [f"--trainer.devices={self.gpus_per_node}"] if self.gpus_per_node else []
        return flags + ([f"--trainer.num_nodes={self.nodes}"] if self.nodes else [])

    def sbatch(self, name: str) -> dict[str, str | bool]:
        """Options of sbatch by their long names, without the array.

        Args:
            name: of the job.
        """
        options: dict[str, str | bool] = {"job-name": name, "nodes": str(self.nodes or 1)}
        options["ntasks-per-node"] = str(self.gpus_per_node or 1)
        if self.gpus_per_node:
            options["gpus-per-node"] = str(self.gpus_per_node)
        return options | {"signal": SIGNAL, "requeue": True, "open-mode": "append"} | dict(self.options)

    @property
    def srun(self) -> list[str]:
        """Options of srun: since 22.05 it does not take the cores per task over from sbatch."""
        cores = self.options.get("cpus-per-task")
        return [f"--cpus-per-task={cores}"] if cores else []


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


def array_script(runs: Sequence[Run], resources: Resources) -> str:
    """The script for ``sbatch`` that runs every run as a task of one array."""
    tables = list(dict.fromkeys(run.request.table.name for run in runs))
    request = runs[0].request
    parallel = f"%{resources.parallel}" if resources.parallel else ""
    array = {"array": f"0-{len(runs) - 1}{parallel}", "output": f"{request.runs}/slurm-%A_%a.log"}
    options = array | resources.sbatch(tables[0] if len(tables) == 1 else "lit_video")
    return "\n".join(
        [
            "#!/bin/bash",
            f"# {len(runs)} runs of {', '.join(tables)}: sbatch THIS_FILE, in the folder where it was made.",
            "# A task that is preempted, or reaches its time limit, saves a checkpoint, is queued again and goes on.",
            *(f"#SBATCH --{key}" if value is True else f"#SBATCH --{key}={value}" for key, value in options.items()),
            "",
            "case $SLURM_ARRAY_TASK_ID in",
            *(f"  {i}) run=({shlex.join(run.arguments)}) ;;" for i, run in enumerate(runs)),
            "esac",
            shlex.join(["srun", *resources.srun, *FIT]) + ' "${run[@]}" \\',
            "  " + shlex.join(request.shared_args),
            "",
        ]
    )
