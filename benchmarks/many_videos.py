"""A data set as large as Kinetics, simulated: how long checking and starting take, and how much memory.

    python -m benchmarks.many_videos FOLDER [--videos 240000] [--classes 400] [-o FILE]

Makes ``FOLDER/many/{train,val,test}/CLASS/VIDEO.mp4``, hard links to few short videos, and a table of the same videos,
once; then checks the folder and starts a training, each in a process of its own. Beside them stands the same with ten
videos.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import Measurement, Result, Row, Table, parser, ran
from lit_video.datamodules import Dense, VideoCSV, VideoFolder
from lit_video.datamodules.records import data_digest

FILES = 16  # that the links name: a file system allows some ten thousand links to one
SHARES = {"train": 0.9, "val": 0.05, "test": 0.05}
FEW = 10  # videos of the data set beside


def make(folder: Path, videos: int, classes: int) -> None:
    """Links to few videos, in folders of classes, and tables of them; what is there already stays."""
    if (folder / "made.json").exists():
        return
    from tests.video.bad_files import write

    sources = [folder / "sources" / f"{i}.mp4" for i in range(FILES)]
    sources[0].parent.mkdir(parents=True, exist_ok=True)
    for i, source in enumerate(sources):
        write(source, frames=24 + i)
    number = 0
    for split, share in SHARES.items():
        rows = ["path,label"]
        for i in range(max(round(share * videos), 2)):
            name = f"{split}/class_{i % classes:03}/video_{number:08}.mp4"
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(sources[number % FILES], folder / name)
            rows.append(f"{name},class_{i % classes:03}")
            number += 1
        (folder / f"{split}.csv").write_text("\n".join(rows) + "\n")
    (folder / "made.json").write_text(json.dumps({"videos": number, "classes": classes}))


def memory() -> float:
    """MB of this process and its workers, what they share counted once."""
    workers = [name for task in Path("/proc/self/task").glob("*/children") for name in task.read_text().split()]
    files = [Path("/proc", process, "smaps_rollup").read_text().splitlines() for process in ("self", *workers)]
    return round(sum(int(line.split()[1]) for lines in files for line in lines if line.startswith("Pss:")) / 1024, 1)


def start(kind: str, folder: str, manifest: str) -> Row:
    """What a run of two workers does before its first step: seconds, and MB once workers are at work."""
    begun = time.perf_counter()
    data_set: Any = {"folder": VideoFolder, "csv": VideoCSV}[kind]
    data = data_set(root=folder, manifest=manifest or None, frames=4, image_size=32, batch_size=8, num_workers=2,
                    sampling=Dense(seconds=0.5))  # fmt: skip
    data.check()
    data_digest(data)
    batches = iter(data.train_dataloader())
    data.val_dataloader()
    next(batches)
    seconds = round(time.perf_counter() - begun, 2)
    for _ in zip(range(20), batches, strict=False):
        pass
    return {"classes": data.num_classes, "seconds": seconds, "mb": memory()}


def check(folder: Path) -> Row:
    """``data check`` in a process of its own, which writes the manifest."""
    command = [sys.executable, "-m", "lit_video", "data", "check", str(folder), "--dataset", "folder"]
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return {"seconds": round(time.perf_counter() - begun, 2), "mb": round(usage.ru_maxrss / 1024, 1)}


def started(*arguments: object) -> Row:
    """:func:`start` in a fresh process."""
    code = "import json, sys; from benchmarks.many_videos import start; print(json.dumps(start(*sys.argv[1:])))"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def measure(many: Path, few: Path) -> Iterator[Row]:
    """Each row as it is measured."""
    for old in many.glob("manifest.*"):
        old.unlink()
    for name in ("check", "check again"):
        yield {"name": name} | check(many)
    check(few)
    manifest, small = (next(folder.glob("manifest.*")) for folder in (many, few))
    for kind in ("folder", "csv"):
        few_mb = started(kind, few, small)["mb"]
        for name, given in ((kind, ""), (f"{kind} with a manifest", manifest)):
            yield {"name": name, "few_mb": few_mb} | started(kind, many, given)


def tables(result: Result) -> Iterator[Table]:
    """Starts, beside those with few videos, and checks."""
    starts, checks = ([row for row in result["rows"] if ("few_mb" in row) == begins] for begins in (True, False))
    title = f"{result['videos']:,} videos of {result['classes']} classes, {result['cores']} cores, {result['device']}"
    notes = ["start: from the data set's constructor to the first batch; memory of all processes together"]
    body = [[row["name"], f"{row['seconds']:.2f}", f"{row['mb'] - row['few_mb']:.0f}"] for row in starts]
    yield Table(title, ["start", "seconds", f"MB more than with {FEW} videos"], body, notes)
    body = [[row["name"], f"{row['seconds']:.1f}", f"{row['mb']:.0f}"] for row in checks]
    yield Table("The same videos", ["data check", "seconds", "most memory of a process, MB"], body, [])


def main() -> int:
    """Make both data sets, and measure."""
    made = parser("many_videos", __doc__)
    made.add_argument("folder", type=Path, help="where the data set is made, some GB of inodes")
    made.add_argument("--videos", type=int, default=240_000)
    made.add_argument("--classes", type=int, default=400)
    given = made.parse_args()
    given.device = "cpu"
    measurement = Measurement("many_videos", given)
    measurement.result["cores"] = os.cpu_count()
    many, few = given.folder / "many", given.folder / "few"
    make(many, given.videos, given.classes)
    make(few, FEW, 2)
    for row in measure(many, few):
        measurement.rows.append(row)
        measurement.keep()
    return measurement.show(tables)


if __name__ == "__main__":
    ran(main)
