"""Train a row, and after every epoch write down the memory and the open files of this process and its workers.

python -m tests.training.growth_script OUT.jsonl TABLE.yaml RUNS [flags]
"""

import gc
import json
import os
import sys
from pathlib import Path

from lightning import Callback

from lit_video.training.run_cli import RunCLI
from lit_video.utils.stop_signals import StopSignals
from tests.command_line import parse_request


def children(pid):
    """The processes that a process started and that live."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def sample(pid):
    """Memory that was written to, in MB, and the number of open files.

    That is RSS without the pages of libraries. Those count as shared or not as other processes of the machine come and
    go, which moves RSS, PSS and USS by 100 MB; and pages that workers inherit become their own one by one.
    """
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    written = (kilobytes["Private_Dirty"] + kilobytes["Shared_Dirty"] + kilobytes["Swap"]) / 1024
    return {"written": written, "files": len(os.listdir(f"/proc/{pid}/fd"))}


class Sample(Callback):
    """A line per epoch: this process first, then its workers."""

    def __init__(self, out):
        self.out = out

    def on_train_epoch_end(self, trainer, pl_module):
        gc.collect()
        processes = [os.getpid(), *sorted(children(os.getpid()))]
        with self.out.open("a") as file:
            file.write(json.dumps([sample(pid) for pid in processes]) + "\n")


if __name__ == "__main__":
    out, table, runs = map(Path, sys.argv[1:4])
    request = parse_request(["--config", str(table), "--row", "second", "--runs", str(runs), *sys.argv[4:]])
    row = request.rows[0]
    run_dir = request.table.run_dir(runs, row, 0)
    run_dir.mkdir(parents=True)
    facts = {"seed": 0, "table": request.table.name, "row": row.name, "scale": request.table.scale}
    cli = RunCLI(request.row_args(row, 0), facts, row, run_dir, StopSignals("growth"))
    cli.trainer.callbacks.append(Sample(out))
    cli.trainer.fit(cli.model, cli.datamodule)
