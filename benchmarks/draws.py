"""Add to packed runs on real video which of their test videos are one draw: a person or a recording.

``python -m benchmarks.draws DIR benchmarks/results`` takes the runs whose table or scale is named after a folder of DIR
with labels.csv and the videos: avletters, room_actions, utd_mhad. The draws are the values of the column named by
``data.draw_column`` in experiments/ today. A run is refused, and no pack is written, unless its classes, its
labels in their order and the recorded digest of its videos are those of the list. Nothing but ``predictions.npz``
changes, and a second call changes nothing.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from lit_video.datamodules import VideoCSV
from lit_video.datamodules.inspection import data_digest
from lit_video.errors import UserError
from lit_video.runs.finished import read_finished
from lit_video.runs.folder import run_folders
from lit_video.runs.packing import write_pack
from lit_video.runs.packs import packed_runs
from lit_video.runs.predictions import FILE, Predictions, packed_predictions, read_predictions
from lit_video.utils.yaml_files import read_yaml

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
# file that has the data set's settings today, by the name of its folder
SETTINGS = {
    "avletters": "parts/data_avletters.yaml",
    "room_actions": "room_actions.yaml",
    "utd_mhad": "parts/data_utd_mhad.yaml",
}


@cache
def listed(name: str, root: Path, train_values: tuple[str | int, ...], val_values: tuple[str | int, ...]) -> VideoCSV:
    """Return a data set's lists, divided as a run divided them."""
    settings = read_yaml(EXPERIMENTS / SETTINGS[name])
    given = settings.get("data", settings)["init_args"]
    names = ("train", "split_column", "draw_column")
    own = {key: given[key] for key in names}
    return VideoCSV(root=str(root), train_values=[*train_values], val_values=[*val_values], **own)


def data_set_of(run: Path) -> str:
    """Return the name of the data set that a run's table or scale is named after; empty for another run."""
    table, scale, *_ = run.parts[-4:]
    for name in SETTINGS:
        if table.startswith(name) or name in scale.split("+"):
            return name
    return ""


def with_draws(run: Path, root: Path, name: str) -> Predictions:
    """Return a run's predictions with the draws of its test videos; refuse a run of other videos than the list's."""
    finished = read_finished(run)
    assert finished is not None
    predictions = read_predictions(run, finished.result)
    if predictions is None:
        raise UserError(f"{run}: has no predictions; test it again")
    recorded = finished.identity.settings["data"]["init_args"]
    data = listed(name, root, tuple(recorded["train_values"]), tuple(recorded["val_values"]))
    records = data.records("test")
    classes = predictions.tasks[""].classes
    if classes != data.class_names:
        raise UserError(f"{run}: its classes are not those of {root}/labels.csv; give the list that it was tested on")
    if len(records) != len(predictions.video) or not np.array_equal(records.labels, predictions.tasks[""].target):
        raise UserError(f"{run}: its labels are not those of {root}/labels.csv; give the list that it was tested on")
    if data_digest(data) != finished.identity.data:
        raise UserError(f"{run}: its videos are not those of {root}/labels.csv; give the list that it was tested on")
    draws = data.draws("test")
    return replace(predictions, draws=draws and draws.of(predictions.video))


def rewritten(pack: Path, data: Path) -> Iterator[tuple[Path, dict[str, bytes]]]:
    """Yield all runs of a pack with their files; runs on a data set below ``data`` have draws."""
    for run, files in packed_runs(pack).items():
        name = data_set_of(run)
        if name and (data / name).is_dir():
            yield run, dict(files) | {FILE: packed_predictions(with_draws(run, data / name, name))}
        else:
            yield run, dict(files)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DIR", help="folder of the data sets' folders")
    parser.add_argument("results", type=Path, metavar="PACKS", help="folder of packs")
    arguments = parser.parse_args()
    packs = sorted({run.absolute().parents[3] / f"{run.parts[-4]}.tar.xz" for run in run_folders(arguments.results)})
    changed = {}
    try:
        for pack in filter(Path.is_file, packs):
            if any(map(data_set_of, packed_runs(pack))):
                changed[pack] = dict(rewritten(pack, arguments.data))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for pack, runs in changed.items():
        write_pack(pack, runs)
        print(f"{pack.name}: {sum(map(bool, map(data_set_of, runs)))} of {len(runs)} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
