"""The Slurm job that this process is part of. Imports no torch."""

import os
import subprocess


def job_name() -> str:
    """Number of the job, or of the array's task; empty outside Slurm."""
    if "SLURM_ARRAY_JOB_ID" in os.environ:
        return f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ.get('SLURM_ARRAY_TASK_ID', '')}"
    return os.environ.get("SLURM_JOB_ID", "")


def requeue() -> str:
    """Put the job back into Slurm's queue, which ends it; returns what happened, for a line.

    Nothing outside Slurm, or with ``LIT_VIDEO_REQUEUE=0``, for a launcher that does it itself.
    """
    job = job_name()
    if not job or os.environ.get("LIT_VIDEO_REQUEUE") == "0":
        return ""
    try:
        done = subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"job {job} is not requeued: {error}"
    reason = done.stderr.strip()
    return f"job {job} is not requeued: {reason}" if done.returncode else f"job {job} is requeued"
