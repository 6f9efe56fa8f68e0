"""Classify UTD-MHAD by logistic regression on small frames, the floors of docs/real_video.md.

``python -m benchmarks.floors DIR -o floors.json`` trains on the pixels of persons 1, 3, 5 and 7 (30 x 30 pixels), and
tests the other persons: the mean of 16 frames, and the 16 frames in order, also reversed, shuffled, and with one frame
repeated; all test videos, and those of the order pairs and of the other classes. DIR holds labels.csv and the videos.
"""

import csv
import json
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from torchvision.transforms.v2 import functional as F

from benchmarks.harness import parser, provenance, ran
from benchmarks.transfer import TRAINED
from lit_video.training.command_line import recorded_command
from lit_video.utils.files import write_atomically
from lit_video.utils.yaml_files import read_yaml
from lit_video.video.decoding import decode, frame_table

FRAMES, SIDE = 16, 30
GROUPS = Path(__file__).parents[1] / "experiments/parts/data_utd_mhad.yaml"
Pixels, Labels = NDArray[np.float32], NDArray[np.str_]


def small_frames(path: Path) -> Pixels:
    """Return a video's frames at the middles of 16 equal parts, grey, ``(16, 30, 30)`` from 0 to 1."""
    count = frame_table(path).count
    frames = decode(path, [count * (2 * i + 1) // (2 * FRAMES) for i in range(FRAMES)])
    clip = torch.as_tensor(np.array(frames)).permute(0, 3, 1, 2)
    return np.asarray(F.resize(clip, [SIDE, SIDE], antialias=True).float().mean(1) / 255)


def orders(clips: Pixels) -> dict[str, Pixels]:
    """Return clips ``(videos, 16, 30, 30)`` in each order of their frames."""
    draw = np.random.default_rng(0)
    shuffled = np.stack([draw.permutation(clip) for clip in clips])
    static = np.repeat(clips[:, FRAMES // 2, None], FRAMES, axis=1)
    return {"in order": clips, "reversed": clips[:, ::-1], "shuffled": shuffled, "static": static}


def measure(clips: Pixels, labels: Labels, trained: NDArray[np.bool_], pairs: Labels) -> dict[str, list[float]]:
    """Return by input the accuracies in percent of the other persons: all classes, order pairs, other classes."""
    tested, truth = clips[~trained], labels[~trained]
    inputs = {"mean frame": tested.mean(1)} | orders(tested)
    models = {}
    for name, some in (("mean frame", clips[trained].mean(1)), ("in order", clips[trained])):
        models[name] = LogisticRegression(max_iter=2000).fit(some.reshape(len(some), -1), labels[trained])
    paired, found = np.isin(truth, pairs), {}
    for name, some in inputs.items():
        model = models.get(name, models["in order"])
        right = model.predict(some.reshape(len(some), -1)) == truth
        found[name] = [round(100 * float(each.mean()), 1) for each in (right, right[paired], right[~paired])]
    return found


def main() -> int:
    """Measure, print and store the accuracies."""
    made = parser("floors", __doc__)
    made.add_argument("root", type=Path, metavar="DIR")
    given = made.parse_args()
    with (given.root / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    clips = np.stack([small_frames(given.root / row["path"]) for row in rows])
    labels, trained = np.array([row["label"] for row in rows]), np.array([row["person"] in TRAINED for row in rows])
    pairs = np.array(read_yaml(GROUPS)["init_args"]["groups"]["order pairs"])
    accuracies = measure(clips, labels, trained, pairs)
    for name, shares in accuracies.items():
        print(f"{name:12}" + "".join(f"{share:7.1f} %" for share in shares))
    if given.output:
        command = recorded_command(["DIR", "-o", "floors.json"], "python -m benchmarks.floors")
        facts = provenance(command, "cpu", "scikit-learn")
        facts |= {"trained": int(trained.sum()), "tested": int((~trained).sum())}
        write_atomically(given.output, json.dumps(facts | {"accuracy": accuracies}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    ran(main)
