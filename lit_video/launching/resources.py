"""What a run asks Slurm for, as options of sbatch and as settings of the trainer."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# a run saves a checkpoint and asks Slurm to queue it again on this signal, which comes this long before the time limit
SIGNAL = "USR1@90"


@dataclass(frozen=True)
class Resources:
    """Of one run. ``None`` leaves the choice to Slurm.

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
