"""Test that what a message on a data set tells to do can be done as it says, and goes on."""

import re

import pytest

from lit_video.datamodules import VideoCSV, VideoFolder
from lit_video.errors import UserError

TRAIN = "path,label,back\na/1.mp4,walk,sit\na/2.mp4,sit,walk\n"
VAL = "path,label,back\nb/1.mp4,walk,sit\nb/2.mp4,sit,walk\n"
SEPARATOR = {"label_separator": "|"}
BACK = {"reverse_column": "back"}
# content of the training table and settings; the advice; both after it
TOLD = {
    "another class": (("path,label\na/1.mp4,walk\n", {}), "add another", (TRAIN, {})),
    "an empty table": (("", {}), "put the annotations there", (TRAIN, {})),
    "a header": (("path,label\n", {}), "add a row per video", (TRAIN, {})),
    "one label": (("path,label\na/1.mp4,walk|sit\na/2.mp4,sit\n", {}), "keep one label,", (TRAIN, {})),
    "a separator": (
        ("path,label\na/1.mp4,walk|sit\na/2.mp4,sit\n", {}),
        "or set data.label_separator: '|'",
        ("path,label\na/1.mp4,walk|sit\na/2.mp4,sit\n", SEPARATOR),
    ),
    "an empty label": (
        ("path,label\na/1.mp4,|\na/2.mp4,sit|walk\n", SEPARATOR),
        "fill it in,",
        ("path,label\na/1.mp4,walk|\na/2.mp4,sit|walk\n", SEPARATOR),
    ),
    "an empty label's row": (
        ("path,label\na/1.mp4,|\na/2.mp4,sit|walk\n", SEPARATOR),
        "or delete the row",
        ("path,label\na/2.mp4,sit|walk\n", SEPARATOR),
    ),
    "a group": ((TRAIN, {"groups": {"g": ["wlk"]}}), "correct it", (TRAIN, {"groups": {"g": ["walk"]}})),
    "disjoint splits": ((VAL, {}), "make the splits disjoint", (TRAIN, {})),
    "reversed labels": ((TRAIN, {**BACK, **SEPARATOR}), "leave out label_separator", (TRAIN, BACK)),
    "columns": (
        (TRAIN, {"columns": ["path"]}),
        "expected path, label among them",
        ("a/1.mp4,walk\na/2.mp4,sit\n", {"columns": ["path", "label"]}),
    ),
    "a root": (
        ("path,label\n../1.mp4,walk\na/2.mp4,sit\n", {}),
        "give a root that holds all videos",
        ("path,label\nroot/a/1.mp4,walk\nroot/a/2.mp4,sit\n", {"root": ".", "train": "root/train.csv"}),
    ),
    "one video, one split": (
        ("path,label,start,end\nb/1.mp4,walk,0,1\na/2.mp4,sit,0,1\n", {"val": "part.csv"}),
        "keep each video in one split,",
        (TRAIN, {}),
    ),
    "known recordings": (
        ("path,label,start,end\nb/1.mp4,walk,0,1\na/2.mp4,sit,0,1\n", {"val": "part.csv"}),
        "or set data.divides_videos: true",
        (
            "path,label,start,end\nb/1.mp4,walk,0,1\na/2.mp4,sit,0,1\n",
            {"val": "part.csv", "divides_videos": True},
        ),
    ),
}


@pytest.fixture
def opened(tmp_path, video, small, monkeypatch):
    """Function that checks a table of videos with its settings."""
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "root"
    for name in ("a/1.mp4", "a/2.mp4", "b/1.mp4", "b/2.mp4"):
        video(root / name)
    (root / "val.csv").write_text(VAL)
    (root / "part.csv").write_text("path,label,start,end\nb/1.mp4,walk,1,2\nb/2.mp4,sit,0,1\n")

    def check(content, settings):
        (root / "train.csv").write_text(content)
        if settings.get("root") == ".":
            (tmp_path / "val.csv").write_text(VAL.replace("b/", "root/b/"))
        data = VideoCSV(**{"root": str(root), **small, **settings})
        data.check()
        return data

    return check


@pytest.mark.parametrize("case", TOLD)
def test_what_a_message_on_a_table_says_goes_on(case, opened):
    before, advice, after = TOLD[case]
    with pytest.raises((UserError, ValueError), match=re.escape(advice)):
        opened(*before)
    assert len(opened(*after).records("train")) >= 1


def test_pairs_of_reverses_get_their_column_as_told(opened):
    with pytest.raises(UserError, match=re.escape("data.reverse_column")):
        opened(TRAIN, {"pairing": "reverse"}).train_dataloader()
    data = opened(TRAIN, {"pairing": "reverse", **BACK})
    assert len(data.with_reverses(data.records("train"))) == 4
    data = opened(TRAIN.replace("walk,sit", "walk,walk"), BACK)
    with pytest.raises(UserError, match="; name one"):
        data.with_reverses(data.records("train"))


def test_a_folder_of_splits_is_given_as_told(tmp_path, video, small):
    with pytest.raises(UserError, match=re.escape("give the folder that holds")):
        VideoFolder(str(tmp_path / "nowhere"), **small).check()
    for split in ("train", "val", "test"):
        for label in ("a", "b"):
            video(tmp_path / split / label / f"{split}.mp4")
    data = VideoFolder(str(tmp_path), **small)
    assert data.class_names == ["a", "b"]
    data.check()
