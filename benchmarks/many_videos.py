"""A data set as large as Kinetics, simulated: how long listing, checking and starting take, and how much memory.

    python -m benchmarks.many_videos FOLDER [--videos 240000] [--classes 400] [-o FILE]

Makes ``FOLDER/{train,val,test}/CLASS/VIDEO.mp4``, hard links to few short videos, and a table of the same videos, once;
then checks the folder, starts a training and trains some steps, each in a process of its own. Beside them stands the
same with ten videos. Prints what it measures as it goes, and all of it as JSON.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lit_video.utils.command_line import recorded_command
from lit_video.utils.environment import provenance

FILES = 16  # that the links name: a file system allows some ten thousand links to one
SHARES = {"train": 0.9, "val": 0.05, "test": 0.05}
FEW = 10  # videos of the data set beside
STEPS = 5
MB = 2**20


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
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(sources[number % FILES], place)
            rows.append(f"{name},class_{i % classes:03}")
            number += 1
        (folder / f"{split}.csv").write_text("\n".join(rows) + "\n")
    (folder / "made.json").write_text(json.dumps({"videos": number, "classes": classes}))


def replace_videos(folder: Path, count: int) -> None:
    """Let so many videos be others than they were, whatever was done to the folder before."""
    sources = [folder / "sources" / f"{i}.mp4" for i in range(FILES)]
    for path in sorted((folder / "train" / "class_000").iterdir())[:count]:
        now = next(i for i, source in enumerate(sources) if path.samefile(source))
        path.unlink()
        os.link(sources[(now + 1) % FILES], path)


def memory() -> dict[str, float]:
    """MB of this process, and of its workers: resident, and with what is shared divided among those that share it."""
    tasks = [name for task in Path("/proc/self/task").glob("*/children") for name in task.read_text().split()]
    of_all = [_memory(f"/proc/{pid}") for pid in ("self", *tasks)]
    return {"rss": of_all[0][0], "pss": of_all[0][1], "pss_with_workers": round(sum(pss for _, pss in of_all), 1)}


def _memory(process: str) -> tuple[float, float]:
    lines = Path(process, "smaps_rollup").read_text().splitlines()
    kb = {key: int(rest.split()[0]) for key, _, rest in (line.partition(":") for line in lines[1:])}
    return round(kb["Rss"] / 1024, 1), round(kb["Pss"] / 1024, 1)


def start(kind: str, folder: Path, manifest: str) -> dict[str, Any]:
    """What a run does before its first step, timed; CPU seconds beside wall ones show how busy the machine was."""
    steps: dict[str, Any] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        steps[name] = [round(time.perf_counter() - wall, 3), round(time.process_time() - cpu, 3)]
        return result

    timed("imports", _import)
    from lit_video.datamodules.digest import data_digest

    before = memory()
    data = timed("data set", lambda: _data(kind, folder, manifest))
    timed("classes", lambda: data.num_classes)
    timed("check", data.check)
    timed("digest", lambda: data_digest(data))
    loader = timed("train_dataloader", data.train_dataloader)
    timed("val_dataloader", data.val_dataloader)
    batches = iter(loader)
    timed("first batch", lambda: next(batches))
    for _ in zip(range(20), batches, strict=False):  # workers are at work
        pass
    begun = sum(wall for name, (wall, _) in steps.items() if name != "imports")
    return {"seconds": steps, "start": round(begun, 2), "before_mb": before, "after_mb": memory()}


def _import() -> None:
    import lit_video.datamodules.digest
    import lit_video.training.run_cli  # noqa: F401


def _data(kind: str, folder: Path, manifest: str) -> Any:
    """The data set, as a user of two workers makes it."""
    from lit_video.datamodules import Dense, VideoCSV, VideoFolder

    return {"folder": VideoFolder, "csv": VideoCSV}[kind](
        root=str(folder),
        manifest=manifest or None,
        frames=4,
        image_size=32,
        batch_size=8,
        num_workers=2,
        sampling=Dense(seconds=0.5),
    )


def train(kind: str, folder: Path, manifest: str) -> dict[str, Any]:
    """Some steps of a tiny model, and their memory."""
    _import()
    from lightning import Trainer

    from lit_video.modules import XViT
    from lit_video.network.vit import ViTSize

    data = _data(kind, folder, manifest)
    model = XViT(data.num_classes, frames=4, image_size=32, size=ViTSize(width=16, depth=2, heads=2))
    begun = time.perf_counter()
    trainer = Trainer(
        accelerator="cpu", max_steps=STEPS, limit_val_batches=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, use_distributed_sampler=False,
    )  # fmt: skip
    trainer.fit(model, datamodule=data)
    return {"steps": trainer.global_step, "seconds": round(time.perf_counter() - begun, 2), "mb": memory()}


def check(folder: Path, manifest: Path) -> dict[str, Any]:
    """``data check`` in a process of its own: seconds, most memory, exit status."""
    command = [sys.executable, "-m", "lit_video", "data", "check", str(folder), "--dataset", "folder", "-o"]
    begun = time.perf_counter()
    process = subprocess.Popen([*command, str(manifest)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    rss = round(usage.ru_maxrss / 1024, 1)
    return {"seconds": round(seconds, 2), "most_rss_mb": rss, "status": os.waitstatus_to_exitcode(status)}


def measure(stage: str, *arguments: object) -> Any:
    """One of the functions above in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.many_videos", "--stage", stage, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def compare(folder: Path, videos: int, classes: int, few: Path) -> dict[str, Any]:
    """All measurements of the large data set and of that of few videos."""
    result: dict[str, Any] = {"videos": videos, "classes": classes}

    def note(name: str, value: Any) -> None:
        result[name] = value
        print(f"{name}: {json.dumps(value)}", file=sys.stderr, flush=True)

    for place, count, groups in ((folder, videos, classes), (few, FEW, 2)):
        make(place, count, groups)
    manifest, small = folder / "manifest.safetensors", few / "manifest.safetensors"
    if not manifest.exists():
        note("check", check(folder, manifest))
    note("check again", check(folder, manifest))
    replace_videos(folder, 100)
    note("check after 100 changes", check(folder, manifest))
    check(few, small)
    for kind in ("folder", "csv"):
        for name, given in (("", ""), (" with a manifest", manifest)):
            note(f"start of {kind}{name}", measure("start", kind, folder, given))
        note(f"start of {FEW} from {kind}", measure("start", kind, few, small))
        note(f"training from {kind}", measure("train", kind, folder, manifest))
        note(f"training of {FEW} from {kind}", measure("train", kind, few, small))
    return result


def main() -> None:
    """Measure, or run one stage of it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.many_videos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", nargs="+", help="where the data set is made, some GB of inodes")
    parser.add_argument("--videos", type=int, default=240_000)
    parser.add_argument("--classes", type=int, default=400)
    parser.add_argument("-o", "--output", type=Path, help="the same as JSON")
    parser.add_argument("--stage", choices=("start", "train"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.stage:
        kind, folder, manifest = given.folder if len(given.folder) == 3 else [*given.folder, ""]
        work = {"start": start, "train": train}[given.stage]
        print(json.dumps(work(kind, Path(folder), manifest)))
        return
    folder = Path(given.folder[0])
    facts = provenance(recorded_command(sys.argv[1:], "benchmarks.many_videos"), "cpu") | {"cores": os.cpu_count()}
    result = facts | compare(folder / "many", given.videos, given.classes, folder / "few")
    if given.output:
        given.output.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
