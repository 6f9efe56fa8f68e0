"""Data sets on this machine, by the annotation files that they are released with."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from lit_video.diagnosis.finding import Finding
from lit_video.diagnosis.storage import GB, existing, free
from lit_video.utils.data_folder import data_folder

USUAL = ("data", "~/data", "/data", "/datasets", "/mnt/data")
MOST = 2000  # folders that are looked into below each place
# files below ``data.root`` by which a data set is known
MARKS = {
    "SomethingV2": "labels/labels.json",
    "EpicKitchens100": "annotations/EPIC_100_train.csv",
    "Kinetics400 or Kinetics600": "annotations/train.csv",
    "Diving48": "Diving48_vocab.json",
    "UCF101": "ucfTrainTestlist/classInd.txt",
    "HMDB51": "testTrainMulti_7030_splits",
    "HowTo100MTasks": "HowTo100M_v1.csv",
    "VideoCSV": "videos.csv",
    "VideoFolder": "train",
}


def check_data(places: Sequence[Path]) -> Iterator[Finding]:
    """The folder that embedded data is written to, and data sets below the places, or where they usually are."""
    default = data_folder()
    folder = existing(default)
    if not os.access(folder, os.W_OK):
        yield Finding("problem", "data", f"{default} cannot be written", "set LIT_VIDEO_DATA to a folder that can be")
    elif free(folder) < GB / 4:
        text = f"{default}: {free(folder) / GB:.2f} GB free"
        yield Finding("problem", "data", text, "free some, or set LIT_VIDEO_DATA to another folder")
    else:
        yield Finding("ok", "data", f"{default}: embedded data is kept there, {free(folder) / GB:.1f} GB free")
    for place in places:
        if not place.is_dir():
            yield Finding("problem", "data sets", f"--data {place}: no such folder", "mount it, or give another")
        elif not os.access(place, os.R_OK | os.X_OK):
            yield Finding("problem", "data sets", f"--data {place} cannot be read", "ask its owner, look at the groups")
        else:
            yield from _found(place) or [_nothing(place)]
    if not places:
        usual = [Path(name).expanduser() for name in USUAL]
        found = [finding for place in usual if place.is_dir() for finding in _found(place)]
        yield from found or [Finding("ok", "data sets", f"none in {', '.join(USUAL)}; --data DIR looks elsewhere")]


def _found(place: Path) -> list[Finding]:
    """Data sets in a folder, or in folders in it."""
    try:
        folders = [place, *islice((each for each in sorted(place.iterdir()) if each.is_dir()), MOST)]
    except OSError:
        return []
    return [
        Finding("ok", "data sets", f"{name} in {folder}: python -m lit_video data check {folder} looks at every video")
        for folder in folders
        for name in [next((name for name, mark in MARKS.items() if (folder / mark).exists()), None)]
        if name
    ]


def _nothing(place: Path) -> Finding:
    advice = "give data.root of a data set, or the folder above; lit_video/datamodules says which files each needs"
    return Finding("warning", "data sets", f"--data {place}: none that lit_video knows", advice)
