"""Slurm job arrays: one task per run; a preempted task requeues itself."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import logging
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby

from msgspec import structs

from lit_video.errors import UserError
from lit_video.experiment.request import Run
from lit_video.launching.queue import own_environment
from lit_video.runs.folder import read_status, write_status
from lit_video.runs.record import Status
from lit_video.settings.flags import UserSetting

_logger = logging.getLogger(__name__)

# USR1, 90 s before the time limit: the run saves a checkpoint and requeues its job
SIGNAL = "USR1@90"
# a line of sbatch's answer: with --parsable, or as a site's wrapper may print it
JOB_NUMBER = re.compile(r"(?:Submitted batch job )?(\d+)(?:;\S+| on cluster \S+)?")


@dataclass(frozen=True)
class Resources:
    """Slurm resources of one run."""

    nodes: int | None = None  # 1 if None
    gpus_per_node: int | None = None  # one process for each GPU; None to ask for no GPU
    options: Mapping[str, str] = field(default_factory=dict)  # further sbatch options by long name
    parallel: int | None = None  # most runs at the same time; None for no limit

    @property
    def settings(self) -> list[UserSetting]:
        """Trainer's devices and nodes, which must agree with the job's."""
        counts = {"devices": self.gpus_per_node, "num_nodes": self.nodes}
        return [UserSetting(f"trainer.{name}", str(count)) for name, count in counts.items() if count]

    def sbatch(self, name: str, runs: Sequence[Run], after: str = "") -> list[str]:
        """Return the command that submits an array of runs, to start when the job ``after`` has ended."""
        array = f"0-{len(runs) - 1}"
        if self.parallel:
            array += f"%{self.parallel}"
        options = {
            "array": array,
            "job-name": name,
            "nodes": str(self.nodes or 1),
            "ntasks-per-node": str(self.gpus_per_node or 1),
            "signal": SIGNAL,
            "open-mode": "append",
            "output": f"{runs[0].request.folder}/slurm-%A.log",  # Slurm's own messages
        }
        if self.gpus_per_node:
            options["gpus-per-node"] = str(self.gpus_per_node)
        options.update(self.options)
        if after:
            options["dependency"] = ",".join(filter(None, (f"afterany:{after}", options.get("dependency"))))

        flags = [f"--{option}={value}" for option, value in options.items()]
        return ["sbatch", "--parsable", "--requeue", *flags]

    def script(self, runs: Sequence[Run]) -> str:
        """Return the script of a job array: each task executes a run and appends its output to the run's log."""
        srun = ["srun", "--kill-on-bad-exit=1"]  # other ranks would wait for a rank 0 that refuses the run
        if cores := self.options.get("cpus-per-task"):
            srun.append(f"--cpus-per-task={cores}")  # since Slurm 22.05 srun ignores this option of sbatch
        lines = ["#!/bin/bash", "case $SLURM_ARRAY_TASK_ID in"]
        for i, run in enumerate(runs):
            lines.append(f"  {i}) exec >> {shlex.quote(str(run.log))} 2>&1; set -- {shlex.join(run.command)} ;;")
        return "\n".join([*lines, "esac", f'{shlex.join(srun)} "$@"', ""])


def largest_array() -> int:
    """Return the number of tasks that this site allows in an array: Slurm's ``MaxArraySize``, by default 1001."""
    with suppress(OSError, subprocess.TimeoutExpired):
        asked = ["scontrol", "show", "config"]
        answer = subprocess.run(asked, capture_output=True, text=True, env=own_environment(), timeout=30).stdout
        if limit := re.search(r"^MaxArraySize\s*=\s*(\d+)", answer, re.M):
            return max(1, int(limit[1]))
    return 1001


def _arrays(runs: Sequence[Run]) -> list[tuple[str, list[list[Run]]]]:
    """Return (name of a table, its runs in arrays that the site allows) for each table."""
    most = largest_array()
    arrays: list[tuple[str, list[list[Run]]]] = []
    for name, group in groupby(runs, lambda run: run.request.table.name):
        of_table = list(group)
        arrays.append((name, [of_table[start : start + most] for start in range(0, len(of_table), most)]))
    return arrays


def scripts(runs: Sequence[Run], resources: Resources) -> list[str]:
    """Return the command and the script of each array, as they would be submitted."""
    texts: list[str] = []
    for name, arrays in _arrays(runs):
        for number, array in enumerate(arrays):
            after = f"ARRAY_{number}" if number and resources.parallel else ""
            texts.append(f"# {shlex.join(resources.sbatch(name, array, after))}\n{resources.script(array)}")
    return texts


def submit(runs: Sequence[Run], resources: Resources) -> None:
    """Submit the arrays of each table, and write each run's job number (``JOB_INDEX``) into its folder.

    With ``resources.parallel`` a table's arrays follow each other, as Slurm's limit is that of one array.
    """
    from filelock import FileLock, Timeout

    for name, arrays in _arrays(runs):
        job = ""
        for array in arrays:
            job = _submitted(resources.sbatch(name, array, job if resources.parallel else ""), resources.script(array))
            for index, run in enumerate(array):
                task = f"{job}_{index}"
                # a run that has begun holds its lock; if it has ended already, its status has this task
                with suppress(Timeout, OSError), FileLock(run.folder / "lock", timeout=0):
                    status = read_status(run.folder) or Status("queued")
                    if status.job != task:
                        write_status(run.folder, structs.replace(status, state="queued", job=task, message=""))
            _logger.info(f"{name}: {len(array)} runs submitted as job {job}")
    _logger.info("the same command with --status shows how far they are")


def _submitted(command: Sequence[str], script: str) -> str:
    """Submit a script; return the job's number from sbatch's answer, before which sites print banners."""
    try:
        done = subprocess.run(command, input=script, capture_output=True, text=True, env=own_environment())
    except FileNotFoundError:
        raise UserError("--launcher slurm: no sbatch here; take a login node of the cluster") from None
    if done.returncode:
        lines = done.stderr.replace("sbatch: error: ", "").strip().splitlines()
        raise UserError(f"--launcher slurm: sbatch: {'; '.join(lines)}")

    for line in reversed(done.stdout.splitlines()):
        number = JOB_NUMBER.fullmatch(line.strip())
        if number:
            return number[1]
    printed = "; ".join(done.stdout.split("\n")).strip()[:200] or "nothing"
    advice = "the runs may be in the queue: look there (squeue --me) and cancel them before you repeat the command"
    raise UserError(f"--launcher slurm: sbatch printed {printed!r}, no job's number; {advice}")
