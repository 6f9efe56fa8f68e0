"""Runs under faults: the fault matrix, then random faults, until the time is over.

    python -m benchmarks.soak --hours 1 --write

Prints a line per run, keeps everything as lines of JSON in ``benchmarks/results/soak/`` while it goes, and, with
``--write``, makes ``docs/faults.md`` of all that are there. Exit status 1 if a result was lost, wrong, or not to be
had by the same command again. Ctrl-C ends it cleanly: processes, folders and mounts are gone.
"""

import argparse
import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.faults.cells import Cell, Record, References, cells, random_cells, run_cell
from benchmarks.faults.faults import FAULTS, may_mount
from benchmarks.faults.page import found, page, read_lines, summary
from benchmarks.faults.runs import ROOT, Cancelled, cancelled
from lit_video.utils.command_line import recorded_command
from lit_video.utils.environment import provenance

RESULTS = ROOT / "benchmarks/results/soak"


def arguments() -> argparse.Namespace:
    """The command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.soak", description=__doc__, formatter_class=form)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--seed", type=int, default=0, help="of the random faults")
    parser.add_argument(
        "--only", default="", help="cells of the matrix whose name, such as 'SIGTERM in test x1', has it"
    )
    parser.add_argument("--no-matrix", action="store_true", help="random faults only")
    parser.add_argument("-o", "--output", type=Path, help="lines of JSON (default: a new file of the results)")
    parser.add_argument("--write", action="store_true", help="docs/faults.md")
    return parser.parse_args()


def plan(given: argparse.Namespace) -> Iterator[Cell]:
    """The cells of the matrix that are asked for, then random ones; none with mounts where these are not allowed."""
    mounts = may_mount()
    if not mounts:
        print("mounts are not allowed here: faults of disks are left out", flush=True)
    planned = [] if given.no_matrix else [cell for cell in cells() if given.only in name_of(cell)]
    for each in (planned, () if given.only else random_cells(random.Random(given.seed))):
        for cell in each:
            if mounts or not any(FAULTS[i.fault].mounts for i in cell.injections if i.fault in FAULTS):
                yield cell


def name_of(cell: Cell) -> str:
    """Faults, phases and ranks."""
    return f"{', '.join(f'{each.fault} in {each.phase}' for each in cell.injections)} x{cell.setting.ranks}"


def soak(given: argparse.Namespace, output: Path, folder: Path) -> None:
    """Run cells, some at a time, until there are no more, or the time is over."""
    planned, end = plan(given), time.monotonic() + 3600 * given.hours
    references, lock = References(folder), threading.Lock()

    def work() -> None:
        while time.monotonic() < end and not cancelled.is_set():
            with lock:
                cell = next(planned, None)
            if cell is None:
                return
            try:
                record = asdict(run_cell(cell, references))
            except Cancelled:
                return
            except Exception as error:  # of this harness: the others go on
                record = asdict(Record(asdict(cell.setting), problems=[f"harness: {type(error).__name__}: {error}"]))
            with lock, output.open("a") as file:
                file.write(json.dumps(record) + "\n")
                print(f"{name_of(cell)}: {in_a_line(record)}", flush=True)

    with ThreadPoolExecutor(given.jobs) as pool:
        for done in [pool.submit(work) for _ in range(given.jobs)]:
            done.result()


def in_a_line(record: dict[str, Any]) -> str:
    """What happened in a cell, in a line."""
    ends = ", ".join(f"{each['status']}{'' if each['hit'] else ' (missed)'}" for each in record["injections"])
    return f"{ends}: {'; '.join(found(record)) or 'ok'} ({record['seconds']:.0f} s)"


def main() -> int:
    """Soak; returns the exit status."""
    given = arguments()
    begun = datetime.now().astimezone().isoformat(timespec="seconds")
    output = given.output or RESULTS / f"{begun[:16].replace(':', '')}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    head = {"begun": begun} | provenance(recorded_command(sys.argv[1:], "benchmarks.soak"), "cpu")
    output.write_text(json.dumps(head) + "\n")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: cancelled.set())
    with tempfile.TemporaryDirectory(prefix="lit_video_references-", ignore_cleanup_errors=True) as folder:
        soak(given, output, Path(folder))
    numbers = summary(read_lines(output))
    print("\n".join(["", *(f"{number:5d}  {name}" for name, number in numbers.items()), str(output)]))
    if given.write:
        files = sorted({*RESULTS.glob("*.jsonl"), output.resolve()})
        (ROOT / "docs/faults.md").write_text(page([read_lines(file) for file in files]) + "\n")
    return int(any(numbers[name] for name in ("results lost", "results wrong", "runs not recovered")))


if __name__ == "__main__":
    sys.exit(main())
