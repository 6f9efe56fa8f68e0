"""Compare the minutes that the plan of ``finetune`` promises with those that it uses.

    OMP_NUM_THREADS=1 taskset -c 1 python -m benchmarks.minutes --videos DATA -o minutes.json
    OMP_NUM_THREADS=1 taskset -c 1 python -m benchmarks.minutes --videos DATA --cpu -o minutes.json  # beside other jobs

``--cpu`` counts seconds of the processor, not of a clock, in the promise and in the use, for a machine with
other jobs: with one core, one thread and without decoding processes both are the same if it is quiet. Each finetuning
is a process of its own. DATA is the folder of benchmarks/starts.py.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import lit_video
from benchmarks.harness import Measurement, Result, Table, count_processor_seconds, parser, ran
from benchmarks.starts import table_of_videos
from lit_video.engine import step_times
from lit_video.own_videos import first_answer
from lit_video.training import rehearsal
from lit_video.utils import environment

# sets of benchmarks/starts.py, by name: their part
SETS = {"utd_mhad 4": "test", "avletters": "test", "room_actions": "trials"}


def finetuned(name: str, given: argparse.Namespace) -> dict[str, float | None]:
    """Finetune on a set of videos; return the promised and the used seconds."""
    if given.cpu:
        count_processor_seconds(
            environment, step_times, rehearsal, first_answer, import_module("lit_video.api.finetune")
        )
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "videos.csv"
        table_of_videos(SETS[name], name, videos=given.videos, seed=0, file=table)
        settings = {"trainer": {"logger": False}}
        tested = lit_video.finetune(table, minutes=given.minutes, weights="drawn", output=folder, settings=settings)
    return {"promised": tested.planned_seconds, "used": tested.seconds}


def tables(result: Result) -> Iterator[Table]:
    """Yield promised and used minutes."""
    header = ["videos", "--minutes", "promised", "used", "used / promised"]
    body = []
    for row in result["rows"]:
        minutes = [f"{row[key] / 60:.2f}" for key in ("promised", "used")]
        body.append([row["name"], f"{result['minutes']:g}", *minutes, f"{row['used'] / row['promised']:.2f}"])
    clock = "seconds of the processor" if result["cpu"] else "seconds of a clock"
    yield Table(f"Minutes of finetune, {clock}, {result['device']}", header, body, [])


def main() -> int:
    """Finetune on each set of videos; with ``--one`` write the seconds of one of them."""
    made = parser("minutes", __doc__)
    made.add_argument("--videos", type=Path, required=True, metavar="DATA", help="folder of the sets of videos")
    made.add_argument("--sets", nargs="+", choices=SETS, default=[*SETS], help="sets of videos (default: all)")
    made.add_argument("--minutes", type=float, default=2.0, help="minutes of each finetuning (default 2)")
    made.add_argument("--cpu", action="store_true", help="seconds of the processor, not of a clock")
    made.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = made.parse_args()
    if given.one:
        (name,) = given.sets
        given.one.write_text(json.dumps(finetuned(name, given)))
        return 0
    del given.one

    measurement = Measurement("minutes", given)
    for name in given.sets:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "seconds.json"
            words = ["--videos", str(given.videos), "--minutes", str(given.minutes), "--sets", name]
            words += ["--one", str(file), *["--cpu"] * given.cpu]
            subprocess.run([sys.executable, "-m", "benchmarks.minutes", *words], check=True)
            measurement.rows.append({"name": name} | json.loads(file.read_text()))
        measurement.keep()
    return measurement.show(tables)


if __name__ == "__main__":
    ran(main)
