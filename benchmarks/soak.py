"""Runs under faults: the fault matrix, then random faults, until the time is over.

    python -m benchmarks.soak --hours 1 --write

Prints a line per run, keeps everything as lines of JSON in ``benchmarks/results/soak/`` while it goes, and, with
``--write``, makes ``docs/faults.md`` of all that are there. Exit status 1 if a result was lost, wrong, or not to be
had by the same command again. Ctrl-C ends it cleanly: processes, folders and mounts are gone.
"""

import argparse
import json
import random
import shutil
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

from benchmarks.faults.attempt import Cancelled, cancelled
from benchmarks.faults.cells import run_cell
from benchmarks.faults.disks import may_mount
from benchmarks.faults.faults import FAULTS
from benchmarks.faults.matrix import cells, random_cells
from benchmarks.faults.page import found, page, read_lines, summary, text_summary
from benchmarks.faults.place import ROOT
from benchmarks.faults.records import Cell, Record
from benchmarks.faults.references import References
from lit_video.utils.command_line import recorded_command
from lit_video.utils.environment import provenance

RESULTS = ROOT / "benchmarks/results/soak"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--seed", type=int, default=0, help="of the random faults")
    parser.add_argument("--only", default="", help="faults of the matrix whose name contains this; then no random ones")
    parser.add_argument("--phase", default="", help="likewise of phases")
    parser.add_argument("--ranks", type=int, choices=(1, 2), help="likewise of ranks")
    parser.add_argument("--no-matrix", action="store_true", help="random faults only")
    parser.add_argument(
        "-o", "--output", type=Path, help="lines of JSON; default: a new file in benchmarks/results/soak"
    )
    parser.add_argument("--write", action="store_true", help="docs/faults.md")
    return parser.parse_args()


def plan(given: argparse.Namespace) -> Iterator[Cell]:
    """The cells of the matrix that are asked for, then random ones."""
    filtered = given.only or given.phase or given.ranks
    for cell in [] if given.no_matrix else cells():
        injection = cell.injections[0]
        if (
            given.only in injection.fault
            and given.phase in injection.phase
            and given.ranks in (None, cell.setting.ranks)
        ):
            yield cell
    if not filtered:
        yield from random_cells(random.Random(given.seed))


class Soak:
    """Cells from a plan, some at a time, until the time is over.

    Args:
        given: the command line.
        output: file of the lines.
        folder: for references.
    """

    def __init__(self, given: argparse.Namespace, output: Path, folder: Path) -> None:
        self.plan = plan(given)
        self.end = time.monotonic() + 3600 * given.hours
        self.output = output
        self.references = References(folder)
        self.mounts = may_mount()
        if not self.mounts:
            print("mounts are not allowed here: faults of disks are left out", flush=True)
        self._lock = threading.Lock()

    def work(self) -> None:
        """Run cells until there are no more, or the time is over."""
        while (cell := self._next()) is not None:
            try:
                record = asdict(run_cell(cell, self.references))
            except Cancelled:
                return
            except Exception as error:  # of this harness: the others go on
                record = asdict(Record(asdict(cell.setting), problems=[f"harness: {type(error).__name__}: {error}"]))
            with self._lock:
                self._keep(record)

    def _next(self) -> Cell | None:
        with self._lock:
            while time.monotonic() < self.end and not cancelled.is_set():
                cell = next(self.plan, None)
                if cell is None or self.mounts or not any(_needs_mounts(each.fault) for each in cell.injections):
                    return cell
        return None

    def _keep(self, record: dict[str, Any]) -> None:
        with self.output.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(in_a_line(record), flush=True)


def in_a_line(record: dict[str, Any]) -> str:
    """What happened in a cell, in a line."""
    injections = [
        f"{each['fault']} in {each['phase']}" + ("" if each["hit"] else " (missed)") + f" -> {each['status']}"
        for each in record["injections"]
    ]
    setting = record["setting"]
    problems = found(record)
    name = f"{setting['row']} seed {setting['seed']} x{setting['ranks']}{' W&B' if setting['wandb'] else ''}"
    return f"{name}: {', '.join(injections)}: {'; '.join(problems) or 'ok'} ({record['seconds']:.0f} s)"


def _needs_mounts(fault: str) -> bool:
    return fault in FAULTS and FAULTS[fault].mounts


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
    folder = Path(tempfile.mkdtemp(prefix="lit_video_references-"))
    try:
        soak = Soak(given, output, folder)
        with ThreadPoolExecutor(given.jobs) as pool:
            for work in [pool.submit(soak.work) for _ in range(given.jobs)]:
                work.result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = read_lines(output)
    print(f"\n{text_summary(lines)}\n{output}")
    if given.write:
        files = sorted({*RESULTS.glob("*.jsonl"), output.resolve()})
        (ROOT / "docs/faults.md").write_text(page([read_lines(file) for file in files]) + "\n")
    numbers = summary(lines)
    return int(any(numbers[name] for name in ("results lost", "results wrong", "runs not recovered")))


if __name__ == "__main__":
    sys.exit(main())
