"""Compare starts of ``finetune`` on real videos: from scratch, and from weights that were pretrained on drawn videos.

``trials --videos DATA -o FILE`` uses training persons and recordings alone, to choose weights and settings. Persons of
UTD-MHAD are left out in turn, repetition 2 of AVLetters is tested after training on repetition 1, and recordings of
room_actions of the first two days are cross-validated. ``test`` uses the test persons, repetition 3 and all
recordings, once, with what was chosen. The start ``frames`` is no network but logistic regression on small grey frames,
the floor of all others. Sets with a number have so many clips of each class, drawn by the seed. The file
is written after each run, and the same command makes those that are not in it.
"""

import csv
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from scipy.stats import ttest_1samp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

import lit_video
from benchmarks.floors import small_frames
from benchmarks.harness import parser, provenance, ran
from benchmarks.pretraining.release import WEIGHTS
from benchmarks.pretraining.targets import MeanPatch
from benchmarks.pretraining.transfer import FIRST_DAYS, answers
from benchmarks.transfer import TRAINED
from lit_video.errors import UserError
from lit_video.runs.folder import read_finished
from lit_video.training.command_line import recorded_command
from lit_video.utils.class_paths import class_path
from lit_video.utils.files import write_atomically, write_table
from lit_video.utils.text import did_you_mean, text_table

Row = dict[str, str]
FRAMES = "frames"  # the start that is no network
FOLDS = 5

UNLOGGED: dict[str, Any] = {"logger": False}  # settings of the trainer
MEAN_PATCH = ", mean patch"  # ends the name of a start whose patches are read out

# starts by name: arguments of finetune; other names are trials of pretraining whose weights were released
STARTS: dict[str, dict[str, Any]] = {
    "plain": {"weights": "none", "scheme": "xvit"},  # from scratch, without convolutions before the patches
    "scratch": {"weights": "none"},
    "scratch, 400 epochs": {"weights": "none", "settings": {"trainer": {"max_epochs": 400}}},
    "drawn": {"weights": "drawn"},
    "drawn, frozen": {"weights": "drawn", "frozen": True},
    # equal numbers of steps, so that only mirroring differs
    "drawn, 30 epochs": {"weights": "drawn", "mirror": False, "settings": {"trainer": {"max_epochs": 30}}},
    "drawn, 30 epochs, mirrored": {"weights": "drawn", "mirror": True, "settings": {"trainer": {"max_epochs": 30}}},
}


def persons(rows: Sequence[Row], held_out: str) -> list[Row]:
    """Train on the other training persons of UTD-MHAD, test on the one that is held out."""
    kept = [row for row in rows if row["person"] in TRAINED]
    return [row | {"split": "test" if row["person"] == held_out else "train"} for row in kept]


def test_persons(rows: Sequence[Row]) -> list[Row]:
    """Train on the training persons of UTD-MHAD, test on the others."""
    return [row | {"split": "train" if row["person"] in TRAINED else "test"} for row in rows]


def repetitions(rows: Sequence[Row], train: str, test: str) -> list[Row]:
    """Train on some repetitions of AVLetters, test on another."""
    kept = [row for row in rows if row["repetition"] in train + test]
    return [row | {"split": "test" if row["repetition"] == test else "train"} for row in kept]


def first_days(rows: Sequence[Row]) -> list[Row]:
    """Keep recordings of room_actions of the first two days; they are cross-validated."""
    return [row for row in rows if row["recording"].startswith(FIRST_DAYS)]


# sets by part and name: the folder of videos, and the choice of its rows
Choice = tuple[str, Callable[[Sequence[Row]], Sequence[Row]]]
PARTS: dict[str, dict[str, Choice]] = {
    "trials": {
        **{f"utd_mhad {held}": ("utd_mhad", partial(persons, held_out=held)) for held in TRAINED},
        "avletters": ("avletters", lambda rows: repetitions(rows, "1", "2")),
        "room_actions": ("room_actions", first_days),
    },
    "test": {
        "utd_mhad": ("utd_mhad", test_persons),
        "avletters": ("avletters", lambda rows: repetitions(rows, "12", "3")),
        "room_actions": ("room_actions", lambda rows: rows),
    },
}


def few(rows: Sequence[Row], clips: int, seed: int) -> list[Row]:
    """Keep so many training clips of each class."""
    rng = random.Random(f"clips {seed}")
    chosen: list[Row] = [row for row in rows if row["split"] == "test"]
    for label in sorted({row["label"] for row in rows}):
        pool = [row for row in rows if row["label"] == label and row["split"] == "train"]
        chosen += rng.sample(pool, min(clips, len(pool)))
    return chosen


def table_of_videos(part: str, name: str, *, videos: Path, seed: int, file: Path) -> None:
    """Write the table of a set; ``utd_mhad 4`` and the like have so many training clips of each class."""
    videos = videos.absolute()  # a relative path in a table is one from the table's folder
    words = name.split()
    clips = int(words.pop()) if words[-1].isdigit() else None
    whole = " ".join(words)
    if whole not in PARTS[part]:
        raise UserError(f"--sets: {part} has no set {whole!r}{did_you_mean(whole, PARTS[part])}")

    folder, choose = PARTS[part][whole]
    with (videos / folder / "labels.csv").open(newline="") as content:
        rows = choose(list(csv.DictReader(content)))
    if clips:
        if "split" not in rows[0]:
            raise UserError(f"--sets: {name!r}: {folder} is cross-validated, so leave the number of clips out")
        rows = few(rows, clips, seed)

    columns = ["label", *(column for column in ("split", "recording") if column in rows[0])]
    lines = [[str(videos / folder / row["path"]), *(row[column] for column in columns)] for row in rows]
    write_table(file, [["path", *columns], *lines])


def floor(table: Path) -> dict[str, Any]:
    """Return the accuracy of logistic regression on small grey frames in order.

    A table without splits is cross-validated, with whole recordings left out.
    """
    began = time.perf_counter()
    cpu_began = time.process_time()
    with table.open(newline="") as content:
        rows = list(csv.DictReader(content))
    clips = np.stack([small_frames(Path(row["path"])).ravel() for row in rows])
    labels = np.array([row["label"] for row in rows])

    if "split" in rows[0]:
        folds = np.array([0 if row["split"] == "test" else -1 for row in rows])
    else:
        folds = np.empty(len(rows), int)
        recordings = [row["recording"] for row in rows]
        for fold, (_, tested) in enumerate(GroupKFold(FOLDS).split(clips, labels, recordings)):
            folds[tested] = fold

    right = answers(LogisticRegression(max_iter=2000), clips, labels, folds)
    top1 = 100 * mean(right)
    return {
        "top1": top1,
        "said": f"{top1:.1f} % of {len(right)} test videos are right",
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(time.process_time() - cpu_began, 1),
    }


def arguments_of(start: str, weights: Path | None) -> dict[str, Any]:
    """Return the arguments of ``finetune`` for a start.

    Args:
        start: a name of ``STARTS``, or of a trial of pretraining, all of whose layers are trained; followed by
            ``, mean patch`` the mean patch of every frame is read out, not the class token.
        weights: the folder in which ``benchmarks.pretraining release`` wrote a folder for each trial.

    Raises:
        UserError: the start has neither a name nor released weights.
    """
    if start in STARTS:
        return STARTS[start]
    if weights is None:
        known = did_you_mean(start, STARTS)
        raise UserError(f"--starts: no start {start!r}{known}; for a trial of pretraining give --weights DIR")

    trial = start.removesuffix(MEAN_PATCH)
    file = weights / trial / WEIGHTS
    if not file.is_file():
        raise UserError(f"--starts: {start!r} is no start{did_you_mean(start, STARTS)}, and there is no file {file}")

    # the readout is not that of the weights, all other settings are
    readout = {"model": {"readout": class_path(MeanPatch), "weights_settings": "ignore"}} if start != trial else {}
    return {"weights": str(file), "frozen": False, "settings": readout}


def measure(arguments: Mapping[str, Any], table: Path, *, minutes: float, seed: int) -> dict[str, Any]:
    """Fine-tune and test; return the accuracy, what it says, and the seconds of clock and of CPU."""
    settings = dict(arguments.get("settings", {}))
    settings["trainer"] = UNLOGGED | settings.get("trainer", {})

    began = time.perf_counter()
    cpu_began = time.process_time()
    tested = lit_video.finetune(
        table,
        minutes=minutes,
        seed=seed,
        output=table.with_suffix(""),
        **{**arguments, "settings": settings},
    )
    finished = read_finished(tested.run)
    assert finished is not None
    return {
        "top1": finished.result.metrics["test/video_top1"],
        "said": tested.facts[0],
        "steps": finished.result.steps,
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(time.process_time() - cpu_began, 1),
    }


def cell(results: Sequence[dict[str, Any]], name: str, start: str) -> str:
    """Return the accuracy of a set and a start, the mean over seeds with their number."""
    top1 = [result["top1"] for result in results if (result["set"], result["start"]) == (name, start)]
    return f"{mean(top1):.1f} ({len(top1)})" if top1 else "not run"


def gain(results: Sequence[dict[str, Any]], names: Sequence[str], start: str, control: str) -> str:
    """Return what a start gains over a control in points: the mean of sets, with its 95 % t interval over seeds.

    Args:
        results: the runs.
        names: the sets. Seeds count with which all of them were run, from both starts.
        start: the start.
        control: the start that it is compared with.
    """
    top1 = {(result["set"], result["start"], result["seed"]): result["top1"] for result in results}
    seeds = {
        seed for _, _, seed in top1 if all((name, kind, seed) in top1 for name in names for kind in (start, control))
    }
    differences = [
        mean(top1[name, start, seed] - top1[name, control, seed] for name in names) for seed in sorted(seeds)
    ]

    low, high = ttest_1samp(differences, 0.0).confidence_interval(0.95)
    return f"{mean(differences):+z.1f} [{low:+z.1f}, {high:+z.1f}]"


def shown(results: Sequence[dict[str, Any]]) -> str:
    """Return a table of the accuracies of sets and starts."""
    starts = list(dict.fromkeys(str(result["start"]) for result in results))
    names = dict.fromkeys(str(result["set"]) for result in results)
    body = [[name, *(cell(results, name, start) for start in starts)] for name in names]
    return text_table("top-1 in %, mean (seeds)", ["videos", *starts], body)


def main() -> int:
    """Run what the file does not hold yet, and show it."""
    made = parser("starts", __doc__ or "")
    made.add_argument("part", choices=list(PARTS))
    made.add_argument("--videos", type=Path, required=True, help="folder of utd_mhad, avletters and room_actions")
    made.add_argument("--sets", nargs="+", metavar="SET", help="sets, such as avletters or 'utd_mhad s07 4'")
    made.add_argument("--starts", nargs="+", default=["plain", "scratch", "drawn"], metavar="START")
    made.add_argument("--minutes", type=float, default=10.0)
    made.add_argument("--seeds", type=int, nargs="+", default=[0])
    made.add_argument("--weights", type=Path, metavar="DIR", help="folder of released trials of pretraining")
    given = made.parse_args()
    if given.output is None:
        raise UserError("give a file of the results: -o FILE")

    results = json.loads(given.output.read_text()) if given.output.exists() else []
    videos = given.videos.resolve()
    settings = {start: arguments_of(start, given.weights) for start in given.starts if start != FRAMES}
    for seed, name, start in product(given.seeds, given.sets or PARTS[given.part], given.starts):
        run = {"part": given.part, "set": name, "start": start, "minutes": given.minutes, "seed": seed}
        if any(run.items() <= result.items() for result in results):
            continue
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "videos.csv"
            table_of_videos(given.part, name, videos=videos, seed=seed, file=table)
            if start == FRAMES:
                accuracy = floor(table)
            else:
                accuracy = measure(settings[start], table, minutes=given.minutes, seed=seed)
        facts = provenance(recorded_command(sys.argv[1:], "python -m benchmarks.starts"), "cpu")
        results.append(run | accuracy | facts)
        write_atomically(given.output, json.dumps(results, indent=1) + "\n")
        print(f"{name}, {start}, seed {seed}: {accuracy['said']}", flush=True)
    print(shown(results))
    return 0


if __name__ == "__main__":
    ran(main)
