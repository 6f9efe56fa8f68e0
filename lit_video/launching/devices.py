"""Places of this machine where runs go on at the same time: some GPUs each, or a share of the cores."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

from lit_video.errors import UserError
from lit_video.utils.processes import usable_cores


@dataclass(frozen=True)
class Place:
    """Where one run at a time goes on.

    Args:
        name: for messages; empty on a CPU.
        environment: variables of its runs.
    """

    name: str
    environment: Mapping[str, str]


HERE = Place("", {})


def places(jobs: int | None, gpus_per_run: int | None) -> list[Place]:
    """One for each ``gpus_per_run`` GPUs (1), no more than ``jobs`` of them; without a GPU, ``jobs`` (1).

    Raises:
        UserError: there are not enough GPUs for a run.
    """
    found, each = gpus(), gpus_per_run or 1
    if gpus_per_run and len(found) < gpus_per_run:
        raise UserError(f"--gpus-per-run {gpus_per_run}: this machine has {len(found)} GPUs; give --jobs N on a CPU")
    if not found:
        return [Place("", _cores(jobs or 1))] * (jobs or 1)
    groups = [",".join(found[i : i + each]) for i in range(0, len(found) - each + 1, each)][:jobs]
    return [Place(f"GPU {group}", {"CUDA_VISIBLE_DEVICES": group}) for group in groups]


def gpus() -> list[str]:
    """Numbers or names of the GPUs that this process may use, found without importing torch."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return list(takewhile(lambda name: name not in {"", "-1"}, visible.replace(" ", "").split(",")))
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [str(i) for i in range(sum(line.startswith("GPU ") for line in done.stdout.splitlines()))]


def _cores(jobs: int) -> dict[str, str]:
    if jobs == 1 or "OMP_NUM_THREADS" in os.environ:
        return {}
    return {"OMP_NUM_THREADS": str(max(1, usable_cores() // jobs))}
