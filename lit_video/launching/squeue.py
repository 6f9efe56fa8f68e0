"""Slurm's queue, as ``squeue`` prints it."""

import subprocess
from dataclasses import dataclass

from lit_video.errors import UserError


@dataclass(frozen=True)
class Job:
    """A job, or a task of an array.

    Args:
        number: ``12``, or ``12_3`` for a task.
        state: Slurm's word, such as ``PENDING``.
        reason: why it waits.
    """

    number: str
    state: str
    reason: str

    @property
    def waits(self) -> bool:
        """Whether it has not begun, or not begun again."""
        return self.state in {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"}

    @property
    def ends(self) -> bool:
        """Whether it has ended, and Slurm cleans up after it; a requeued job waits after that."""
        return self.state == "COMPLETING"


def queued_jobs() -> dict[str, Job]:
    """Jobs of this user that wait or run, by number; none where Slurm is not installed.

    Raises:
        UserError: Slurm does not answer.
    """
    command = ["squeue", "--me", "--array", "--noheader", "--format=%i|%T|%r"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return {}
    except subprocess.TimeoutExpired:
        raise UserError("squeue: no answer within a minute; try again") from None
    if done.returncode:
        raise UserError(done.stderr.strip().partition("\n")[0] or f"squeue: exit status {done.returncode}")
    jobs = [Job(*line.split("|", 2)) for line in done.stdout.splitlines() if line.count("|") >= 2]
    return {job.number: job for job in jobs}
