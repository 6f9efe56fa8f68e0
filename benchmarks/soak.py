"""Run trainings under faults: the fault matrix in random order, then random faults, until the time is over.

    python -m benchmarks.soak --hours 1 --write
    python -m benchmarks.soak --page benchmarks/results/soak/FILE.jsonl    # runs nothing

Prints a line per run and appends it as JSON to a file in ``benchmarks/results/soak/``; ``--write`` makes
``docs/faults.md`` from it, ``--page`` from one or more such files of one commit. Exit status 1 if a result was lost or
wrong, or if the same command could not complete the run. Ctrl-C removes processes, folders and mounts.
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
from itertools import product
from pathlib import Path

from benchmarks.faults.cells import INPUTS, Cell, Injection, Record, References, run_cell
from benchmarks.faults.faults import DAMAGES, FAULTS, TESTED, may_mount
from benchmarks.faults.page import found, page, read_lines, summary
from benchmarks.faults.runs import PHASES, ROOT, Cancelled, Setting, cancelled
from benchmarks.harness import provenance, ran
from lit_video.training.command_line import recorded_command

RESULTS = ROOT / "benchmarks/results/soak"
PAGE = ROOT / "docs/faults.md"
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGUSR1")
WITH_WANDB: dict[str, tuple[str, ...]] = {
    "wandb-core killed": TESTED,
    "W&B folder garbage": DAMAGES["W&B folder garbage"],
    **dict.fromkeys(SIGNALS, ("training", "writing")),
}
VALIDATIONS = ("validation", "after validation")
DELAYS = (0.1, 0.3, 0.6, 1.0, 2.0)  # seconds after a validation began, or its checkpoint was written
TWO_RANKS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SIGNALS, ("starting", "training", "checkpoint write", "validation", "test", "writing")),
    "rank 1 killed": ("training", "checkpoint write", "validation", "test", "writing"),
    **dict.fromkeys(("worker killed", "run disk full"), ("training", "test")),
    **dict.fromkeys(("run disk read-only", "file size limited", "memory limited", "TMPDIR full"), ("training",)),
    **dict.fromkeys(("clock a day ahead", "second process"), ("training",)),
    **dict.fromkeys(("last.ckpt truncated", "last.ckpt empty"), ("stopped",)),
}


def cells() -> list[Cell]:
    """Return every cell of the matrix once."""
    one_rank = {name: fault.phases for name, fault in FAULTS.items()} | {name: row[-1] for name, row in INPUTS.items()}
    one_rank |= {name: stages for name, stages in DAMAGES.items() if name not in WITH_WANDB}
    parts = ((one_rank, Setting()), (WITH_WANDB, Setting(wandb=True)), (TWO_RANKS, Setting(ranks=2)))
    every = [(setting, fault, phase, 0.0) for faults, setting in parts for fault in faults for phase in faults[fault]]
    every += [(Setting(), *point) for point in product(SIGNALS, VALIDATIONS, DELAYS)]
    return [Cell(setting, (Injection(fault, phase, delay),)) for setting, fault, phase, delay in every]


def random_cells(rng: random.Random) -> Iterator[Cell]:
    """Yield random cells: a row, a seed, and up to three faults, each up to 1.5 seconds after a phase begins."""
    while True:
        ranks = rng.choice((1, 1, 1, 2))
        setting = Setting(rng.choice(("tw0", "tw1", "tw2")), rng.choice((0, 1)), ranks, wandb=rng.random() < 0.2)
        left_out = {"rank 1 killed": ranks == 1, "wandb-core killed": not setting.wandb}
        kinds = rng.choices([name for name in FAULTS if not left_out.get(name)], k=rng.choice((1, 1, 2, 3)))
        injections = [Injection(kind, rng.choice(list(PHASES)), round(rng.uniform(0, 1.5), 2)) for kind in kinds]
        yield Cell(setting, tuple(injections))


def plan(only: str, seed: int) -> Iterator[Cell]:
    """Yield the matrix, then random cells; with ``only``, the matrix's cells with it in their names.

    The matrix takes longer than a soak of two hours. Its order is random, so that the time's end leaves out no kind.
    """
    matrix = cells()
    random.Random(seed).shuffle(matrix)

    mounts = may_mount()
    if not mounts:
        print("mounts are not allowed here: faults of disks are left out", flush=True)
    for each in (matrix, () if only else random_cells(random.Random(seed))):
        for cell in each:
            needed = any(FAULTS[injection.fault].mounts for injection in cell.injections if injection.fault in FAULTS)
            if only in name_of(cell) and (mounts or not needed):
                yield cell


def name_of(cell: Cell) -> str:
    """Return the cell's faults, phases and ranks, such as ``SIGTERM in test x1``."""
    return f"{', '.join(f'{each.fault} in {each.phase}' for each in cell.injections)} x{cell.setting.ranks}"


def soak(planned: Iterator[Cell], end: float, jobs: int, output: Path, folder: Path) -> None:
    """Run ``jobs`` cells at a time until all have run or the time is over."""
    references, lock = References(folder), threading.Lock()

    def work() -> None:
        while time.monotonic() < end and not cancelled.is_set():
            with lock:
                cell = next(planned, None)
            if cell is None:
                return
            try:
                record = run_cell(cell, references)
            except Cancelled:
                return
            except Exception as error:  # the harness failed: other cells go on
                record = Record(asdict(cell.setting), problems=[f"harness: {type(error).__name__}: {error}"])
            line = asdict(record)
            ends = ", ".join(f"{each['status']}{'' if each['hit'] else ' (missed)'}" for each in line["injections"])
            with lock, output.open("a") as file:
                file.write(json.dumps(line) + "\n")
                spent = f"{record.seconds:.0f} s, CPU {record.cpu:.0f} s"
                print(f"{name_of(cell)}: {ends}: {'; '.join(found(line)) or 'ok'} ({spent})", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(work) for _ in range(jobs)]:
            done.result()


def main() -> int:
    """Run the soak; return the exit status."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.soak", description=__doc__, formatter_class=form)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random faults")
    parser.add_argument("--only", default="", help="run cells with this in their names, such as 'SIGTERM in test x1'")
    parser.add_argument(
        "-o", "--output", type=Path, help="file of JSON lines (default: a new one in benchmarks/results/soak)"
    )
    parser.add_argument("--write", action="store_true", help="write docs/faults.md from this soak")
    parser.add_argument(
        "--page", type=Path, nargs="+", metavar="FILE", help="write docs/faults.md from these, run none"
    )
    given = parser.parse_args()
    if given.page:
        PAGE.write_text(page([read_lines(file) for file in given.page]) + "\n")
        return 0
    begun = datetime.now().astimezone().isoformat(timespec="seconds")
    output = given.output or RESULTS / f"{begun[:16].replace(':', '')}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    head = {"begun": begun} | provenance(recorded_command(sys.argv[1:], "python -m benchmarks.soak"), "cpu")
    output.write_text(json.dumps(head) + "\n")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: cancelled.set())
    with tempfile.TemporaryDirectory(prefix="lit_video_references-", ignore_cleanup_errors=True) as folder:
        end = time.monotonic() + 3600 * given.hours
        soak(plan(given.only, given.seed), end, given.jobs, output, Path(folder))
    numbers = summary(read_lines(output))
    print("\n".join(["", *(f"{number:5d}  {name}" for name, number in numbers.items()), str(output)]))
    if given.write:
        PAGE.write_text(page([read_lines(output)]) + "\n")
    return int(any(numbers[name] for name in ("results lost", "results wrong", "runs not recovered")))


if __name__ == "__main__":
    ran(main)
