"""W&B and Slurm: whether they are there, and whether they answer."""

import os
import shutil
import subprocess
from collections.abc import Iterator

from lit_video.diagnosis.finding import Finding
from lit_video.utils.wandb_login import has_key, offline, server, why_unreachable

SECONDS = 5.0  # for an answer of Slurm
SLURM = ("sinfo", "sbatch", "srun", "scontrol")


def check_wandb() -> Iterator[Finding]:
    """Whether runs are recorded online, and whether the server can be reached."""
    mode = os.environ.get("WANDB_MODE", "")
    if mode == "disabled":
        advice = "unset WANDB_MODE to record runs"
        yield Finding("warning", "wandb", "WANDB_MODE=disabled: nothing is recorded", advice)
        return
    if offline():
        why = "WANDB_MODE=offline" if mode else "no key"
        yield Finding("ok", "wandb", f"offline ({why}): runs are recorded in their folders; wandb sync uploads them")
        return
    if not has_key():
        advice = "wandb login, or set WANDB_API_KEY; WANDB_MODE=offline records without"
        yield Finding("problem", "wandb", f"WANDB_MODE={mode}, and there is no key", advice)
        return
    if reason := why_unreachable():  # as a run asks before it starts
        advice = "set WANDB_MODE=offline, and wandb sync the runs from a machine with network"
        yield Finding("warning", "wandb", f"a key is set, and {server()} cannot be reached ({reason})", advice)
        return
    yield Finding("ok", "wandb", f"online: a key is set, {server()} answers")


def check_slurm() -> Iterator[Finding]:
    """Slurm's commands, an answer of its controller, and variables that Lightning would take for a job's."""
    there = [name for name in SLURM if shutil.which(name)]
    if not there:
        yield Finding("ok", "slurm", "not on this machine")
    elif len(there) < len(SLURM):
        missing = ", ".join(sorted(set(SLURM) - set(there)))
        yield Finding("warning", "slurm", f"no {missing} in PATH", "load the cluster's module for Slurm")
    else:
        yield _nodes()
    job, tasks = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_NTASKS", "1")
    if job is None:
        return
    under_srun = "SLURM_STEP_ID" in os.environ and "SLURM_PROCID" in os.environ
    if not under_srun and tasks != "1":
        advice = "start runs with srun, or unset SLURM_NTASKS: Lightning would wait for the other tasks"
        yield Finding("warning", "slurm job", f"in job {job} of {tasks} tasks, and not under srun", advice)
    else:
        yield Finding("ok", "slurm job", f"in job {job}{', under srun' if under_srun else ''}")


def _nodes() -> Finding:
    advice = "is slurmctld up? ask the cluster's admins; without it use --launcher local"
    try:
        done = subprocess.run(["sinfo", "-h", "-o", "%D %t"], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return Finding("warning", "slurm", f"sinfo gives no answer within {SECONDS:.0f} s", advice)
    if done.returncode:
        return Finding(
            "warning", "slurm", f"sinfo: {(done.stderr.strip().splitlines() or ['failed'])[0][:150]}", advice
        )
    nodes = ", ".join(done.stdout.split("\n")).strip(", ")
    return Finding("ok", "slurm", f"nodes: {nodes}" if nodes else "answers, without a node for you")
