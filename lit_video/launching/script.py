"""A Slurm array as a script that people can read and change."""

import shlex
from collections.abc import Sequence

from lit_video.launching.resources import Resources
from lit_video.launching.work import FIT, Run


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
