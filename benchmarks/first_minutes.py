"""Time commands as a stranger types them, each in a process of its own and in a folder without earlier runs.

    python -m benchmarks.first_minutes [--videos DIR] -o first_minutes.json

``--videos`` is a folder of labelled videos for ``finetune``, whose row is left out without it. The scheme of one's
own is that of docs/adding.md, the Python code that of README.md.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.harness import Measurement, Result, Table, parser, processor_seconds, ran
from lit_video.errors import UserError
from lit_video.utils.processes import DONE, MISTAKE

ROOT = Path(__file__).parents[1]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = {"my_scheme.py": "docs/adding.md", "readme.py": "README.md"}  # pages whose first block of Python is the file
# what a stranger wants, the command without its program, and the exit status
COMMANDS = (
    ("all commands", "lit_video --help", DONE),
    ("is the installation right?", "lit_video doctor", DONE),
    ("a misspelt setting is refused", "lit_video fit ablation_tw --data.batch_sizes 4", MISTAKE),
    ("a table of packed runs", f"lit_video table utd_mhad --runs {ROOT}/benchmarks/results", DONE),
    ("a page of all packed runs", f"lit_video report {ROOT}/benchmarks/results -o results.html", DONE),
    ("what a scheme of one's own reads", "lit_video profile my_scheme.py --look", DONE),
    ("README's lines of Python", "python readme.py", DONE),
)


def main() -> int:
    """Time the commands in turns, and print a table."""
    made = parser("first_minutes", str(__doc__), repeats=3)
    made.add_argument("--videos", type=Path, metavar="DIR", help="labelled videos, for finetune")
    arguments = made.parse_args()
    measurement = Measurement("first_minutes", arguments)
    commands = list(COMMANDS)
    if arguments.videos:
        finetune = f"lit_video finetune {arguments.videos.resolve()} --minutes 0.5 --trainer.logger=false"
        commands.append(("half a minute of finetune", finetune, DONE))

    runs: list[list[dict[str, float]]] = [[] for _ in commands]
    for name, command, _ in commands:
        shown = re.sub(r"(?:/[^ /]+)+/", "", command)  # names without the folders of this machine
        measurement.rows.append({"name": name, "shown": shown})
    for _ in range(arguments.repeats):
        for row, (name, command, status), own in zip(measurement.rows, commands, runs, strict=True):
            own.append(timed(command, status))
            row.update({key: median(run[key] for run in own) for key in own[0]})
            print(f"{name}: {own[-1]}", file=sys.stderr, flush=True)
        measurement.result["rounds"] += 1
        measurement.keep()
    return measurement.show(tables)


def timed(command: str, status: int) -> dict[str, float]:
    """Run a command in a new folder; return seconds until its first line and its end, and seconds of the processor.

    Raises:
        UserError: the command ended with another status.
    """
    programs = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "WANDB_MODE": "disabled",
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, page in PAGES.items():
            found = PYTHON.search((ROOT / page).read_text(encoding="utf-8"))
            if not found:
                raise UserError(f"{page}: no code for {name}")
            Path(folder, name).write_text(found[1], encoding="utf-8")

        before = processor_seconds()
        started = time.perf_counter()
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(command.split(), cwd=folder, env=environment, **pipes) as process:
            assert process.stdout
            lines = []
            first = 0.0
            for line in process.stdout:
                first = first or time.perf_counter() - started
                lines.append(line)
        ended = time.perf_counter() - started
        used = processor_seconds() - before

    if process.returncode != status:
        raise UserError(f"{command}: ended with {process.returncode}: {''.join(lines[-3:]).strip()}")
    return {"first_line": first or ended, "seconds": ended, "processor": used}


def tables(result: Result) -> Iterator[Table]:
    """Yield a line for each command."""
    body = [
        [row["name"], f"`{row['shown']}`", *(f"{row[key]:.1f}" for key in ("first_line", "seconds", "processor"))]
        for row in result["rows"]
    ]
    title = f"Commands as typed, {result['device']}, medians of {result['rounds']}"
    yield Table(title, ["wanted", "command", "first line s", "end s", "CPU s"], body, [])


if __name__ == "__main__":
    ran(main)
