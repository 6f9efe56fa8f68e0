"""Try to tell the direction of temporal skills from one frame at a known time, and from the files' sizes.

``python -m benchmarks.leakage -o leakage.json`` draws every data set of ``SCALES`` in a temporary folder, with 256
training and 128 test pairs a skill. For each skill gradient boosting learns the direction from 14 numbers of the first,
the middle or the last frame, and from the sizes of the file and of its packets, sorted. Accuracies
over 256 test videos have a standard error of 3.1 points around 50 %.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.harness import parser, provenance, ran
from lit_video.datamodules import TemporalSkills
from lit_video.training.command_line import recorded_command
from lit_video.utils.files import write_atomically
from lit_video.utils.yaml_files import read_yaml
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import decode

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
SCALES = {
    "embedded": "",
    "embedded_even": "scale/embedded_even.yaml",
    "twelve": "scale/twelve.yaml",
    "frames16": "parts/frames16.yaml",
    "frames32": "parts/frames32.yaml",
    "gpu": "scale/gpu.yaml",
}
DRAWN = ("skills", "length", "frames_per_step", "side", "num_frames", "difficulty", "test_difficulty")
PAIRS = (256, 1, 128)
Floats = NDArray[np.float64]


def settings_of(overlay: str) -> dict[str, object]:
    """Return the settings of a scale's videos, without its numbers of pairs."""
    given = read_yaml(EXPERIMENTS / overlay)["data"]["init_args"] if overlay else {}
    return {name: value for name, value in given.items() if name in DRAWN}


def numbers_of_frame(path: Path, frame: int) -> Floats:
    """Return 14 numbers of one frame ``(side, side, 3)``: colours, brightness, and what differs from the background."""
    picture = decode(path, [frame])[0] / 255
    grey = picture.mean(2)
    apart = grey - np.median(grey)
    shape = np.abs(apart) > 0.05
    rows, columns = np.mgrid[0 : 1 : 1j * len(grey), 0 : 1 : 1j * len(grey)]
    weights = np.abs(apart) * shape + 1e-9
    place = [float((weights * axis).sum() / weights.sum()) for axis in (rows, columns)]
    spread = [
        float((weights * (axis - at) ** 2).sum() / weights.sum())
        for axis, at in zip((rows, columns), place, strict=True)
    ]
    colours = [*picture.mean((0, 1)), *picture.std((0, 1))]
    return np.array([*colours, apart.min(), apart.max(), np.abs(apart).mean(), shape.mean(), *place, *spread])


def packet_sizes(path: Path, frame: int = 0) -> Floats:
    """Return the size of a file and the sorted sizes of its packets, in bytes; their order is that of the frames."""
    with av.open(f"file:{path}") as container:
        sizes = [packet.size for packet in container.demux(video=0) if packet.size]
    return np.array([path.stat().st_size, *sorted(sizes)], np.float64)


def told(
    train: list[VideoRecord], test: list[VideoRecord], numbers: Callable[[Path, int], Floats], frame: int
) -> float:
    """Return in percent how often boosting on some numbers of the videos tells the direction of test videos."""
    inputs = [np.stack([numbers(record.path, frame) for record in records]) for records in (train, test)]
    directions = [np.array([record.label for record in records]) % 2 for records in (train, test)]
    model = HistGradientBoostingClassifier(random_state=0).fit(inputs[0], directions[0])
    return round(100 * float((model.predict(inputs[1]) == directions[1]).mean()), 1)


def measure(data: TemporalSkills) -> dict[str, dict[str, float]]:
    """Return by skill how often one frame, and the sizes, tell the direction."""
    found = {}
    for name, classes in data.opposites.items():
        train, test = ([one for one in data.records(split) if one.label in classes] for split in ("train", "test"))
        last = data.length - 1
        of_frames = {"first": 0, "middle": data.length // 2, "last": last}
        found[name] = {which: told(train, test, numbers_of_frame, frame) for which, frame in of_frames.items()}
        found[name]["sizes"] = told(train, test, packet_sizes, 0)
    return found


def main() -> int:
    """Measure, print and store the accuracies."""
    made = parser("leakage", __doc__)
    made.add_argument("--scales", nargs="+", choices=tuple(SCALES), default=list(SCALES))
    given = made.parse_args()
    accuracies = {}
    for scale in given.scales:
        with tempfile.TemporaryDirectory() as folder:
            data = TemporalSkills(folder, pairs=PAIRS, num_workers=0, **settings_of(SCALES[scale]))
            data.prepare_data()
            accuracies[scale] = measure(data)
        for name, shares in accuracies[scale].items():
            print(
                f"{scale:14}{name:10}" + "".join(f"{which:>8} {share:5.1f}" for which, share in shares.items()),
                flush=True,
            )
        if given.output:
            words = ["--scales", *given.scales, "-o", "leakage.json"]
            facts = provenance(recorded_command(words, "python -m benchmarks.leakage"), "cpu", "scikit-learn")
            write_atomically(given.output, json.dumps(facts | {"accuracy": accuracies}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    ran(main)
