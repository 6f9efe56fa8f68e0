"""Fine-tune X-ViT, trained on 17 classes of UTD-MHAD, on the other 10 classes of other persons.

``python benchmarks/transfer.py DIR -o transfer.json`` prints accuracy and CPU seconds of a frozen backbone with a
probe, of fine-tuning, and of training from scratch, with 4, 8 and 16 clips per class; a fifth of them validates. DIR
holds labels.csv and the videos. The same command goes on after a stop. Two processes share the work by seeds and clips,
each with its own output.
"""

import argparse
import csv
import json
import random
import time
from itertools import product
from pathlib import Path
from statistics import mean, stdev

from lit_video.__main__ import main
from lit_video.runs.folder import read_finished
from lit_video.utils.environment import commit, device_name
from lit_video.utils.files import write_atomically
from lit_video.utils.text import text_table

CLASSES = 10
OTHERS, TRAINED = ("s02", "s04", "s06", "s08"), ("s01", "s03", "s05", "s07")
CLIPS, SEEDS = (4, 8, 16), (0, 1, 2)
QUIET = ["--trainer.logger=false"]


def ways(start: Path) -> dict[str, list[str]]:
    """Return the flags of ``finetune`` by way."""
    weights = ["--weights", str(start)]
    return {
        "frozen, probe": [*weights, "--frozen"],
        "fine-tuned": [*weights, "--no-frozen"],
        "from scratch": ["--weights", "none"],
    }


def write_rows(path: Path, rows: list[dict[str, str]], root: Path) -> Path:
    """Write a table of videos by their whole paths."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [[root / row["path"], row["label"], row["person"], row.get("split", "")] for row in rows]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["path", "label", "person", "split"], *lines])
    return path


def pretrain(root: Path, rows: list[dict[str, str]], runs: Path, seed: int) -> Path:
    """Train X-ViT on persons 1, 3, 5, 7, or find that run; return its folder. ``fit`` refuses other videos."""
    table = write_rows(runs / "base.csv", rows, root)
    command = ["fit", "--config", "experiments/utd_mhad.yaml", "--row", "xvit1", "--seeds", str(seed)]
    flags = [f"--data.root={root}", f"--data.train={table}", "--data.groups={}", "--data.test_orders=[]"]
    assert main([*command, *flags, *QUIET, "--runs", str(runs)]) == 0
    return runs / f"utd_mhad/cpu/xvit1/seed{seed}"


def few_clips(rows: list[dict[str, str]], clips: int, seed: int) -> list[dict[str, str]]:
    """Draw this many training clips per class from the other persons; test on the persons of the first training."""
    rng, chosen = random.Random(f"clips {seed}"), []
    for label in sorted({row["label"] for row in rows}):
        pool = [row for row in rows if row["label"] == label and row["person"] in OTHERS]
        rng.shuffle(pool)
        chosen += [row | {"split": "train"} for row in pool[:clips]]
    return chosen + [row | {"split": "test"} for row in rows if row["person"] in TRAINED]


def measure(table: Path, flags: list[str], output: Path, seed: int, minutes: str) -> dict[str, object]:
    """Run ``finetune``; return its accuracy and CPU seconds; refuse an unfinished earlier run."""
    if output.exists():
        raise SystemExit(f"error: {output}: begun before, so its seconds would be those of a part; delete it")
    begun = time.process_time()
    command = ["finetune", str(table), *flags, "--minutes", minutes, "--seed", str(seed), "-o", str(output), *QUIET]
    assert main(command) == 0
    (run,) = (output / "runs").glob(f"*/own/*/seed{seed}")
    finished = read_finished(run)
    assert finished is not None
    result = finished.result
    return {
        "top1": result.metrics["test/video_top1"],
        "videos": result.test_videos,
        "cpu_seconds": round(time.process_time() - begun, 1),
        "steps": result.steps,
    }


def kept(path: Path, facts: dict[str, object]) -> list[dict[str, object]]:
    """Return the stored results; refuse those of another commit, device, length or choice of classes."""
    if not path.exists():
        return []
    content = json.loads(path.read_text())
    for key, value in facts.items():
        if (was := content.get(key)) != value:
            raise SystemExit(f"error: {path}: its {key} is {was}, now it is {value}; give another --output")
    return list(content["results"])


def table_of(results: list[dict[str, object]]) -> str:
    """Return accuracies and seconds by way and number of clips, mean and deviation over seeds."""
    body = []
    for way in ways(Path()):
        cells = [way]
        for clips in CLIPS:
            found = [each for each in results if (each["way"], each["clips"]) == (way, clips)]
            top1, seconds = ([float(str(each[key])) for each in found] for key in ("top1", "cpu_seconds"))
            spread = f" ± {stdev(top1):.1f}" if len(top1) > 1 else ""
            cells.append(f"{mean(top1):.1f}{spread} ({len(top1)}), {mean(seconds):.0f} s" if top1 else "not run")
        body.append(cells)
    return text_table("Top-1 (seeds), CPU seconds", ["", *(f"{n} clips per class" for n in CLIPS)], body)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--output", "-o", type=Path, required=True)
    parser.add_argument("--runs", type=Path, default=Path("runs/transfer"))
    parser.add_argument("--minutes", default="1")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--clips", type=int, nargs="+", default=CLIPS)
    given = parser.parse_args()
    root, runs = given.root.resolve(), given.runs.resolve()
    with (root / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    new = random.Random(0).sample(sorted({row["label"] for row in rows}), CLASSES)
    facts = {"commit": commit(), "device": device_name("cpu"), "minutes": given.minutes, "new": sorted(new)}
    results = kept(given.output, facts)
    for seed, clips in product(given.seeds, given.clips):
        start = pretrain(root, [row for row in rows if row["label"] not in new], runs, seed)
        drawn = few_clips([row for row in rows if row["label"] in new], clips, seed)
        table = write_rows(runs / f"clips{clips}_{seed}.csv", drawn, root)
        for way, flags in ways(start).items():
            key = {"way": way, "clips": clips, "seed": seed}
            if not any(key.items() <= each.items() for each in results):
                output = runs / f"{way.partition(',')[0].replace(' ', '_')}_{clips}_{seed}_{given.minutes}"
                results.append(key | measure(table, flags, output, seed, given.minutes))
                write_atomically(given.output, json.dumps(facts | {"results": results}, indent=1))
    print(table_of(results))
