"""Test that what a message on a folder or a table of own videos tells to do can be done as it says, and goes on."""

import os
import re
import shutil

import numpy as np
import pytest

from lit_video.commands.parser import parse
from lit_video.errors import UserError
from lit_video.own_videos.dividing import FEW_TO_TRAIN, assign_splits, folds, without_rare
from lit_video.own_videos.experiment import experiment_file
from lit_video.own_videos.finding import OwnVideo, find_own_videos
from lit_video.own_videos.groups import find_groups, refuse_equal_files, refuse_segments_of_learned_videos
from lit_video.own_videos.starts import DEFAULT_WEIGHTS, at_hand
from lit_video.reports.next_step import next_step
from lit_video.runs.predictions import Predictions, TaskPredictions
from lit_video.weights.hub import NotFetched
from tests.own_videos.test_columns import LABELS, PERSONS, found_in, parts, table

NUMBERS = [str(number) for number in range(24)]
SECONDS = {"start": ["0.2"] * 24, "end": ["0.6"] * 24}
SPLIT = {"split": parts("train", "test")}
TWO_SPLITS = {**SPLIT, "partition": parts("train", "test")}
ODD = {"split": [*parts("train", "test")[:-1], "?"]}
FLAG = {"is_test": ["", *parts(0, 1)[1:]]}
FLAGS = {"is_val": parts(0, 1), "is_test": parts(0, 1)}
GAPS = {"person": ["", *PERSONS[1:]]}
FRAMES = {"first_frame": ["5"] * 24, "last_frame": ["15"] * 24}
BACKWARDS = {"start": ["0.6"] * 24, "end": ["0.2"] * 24}
TWICE = {"start": ["0.2"] * 24, "clip_start": ["0.3"] * 24}
STAMP = {"timestamp": ["0.2"] * 24}
FOLDS = {"fold": NUMBERS}
NO_SPLIT = {"split": "none"}
# columns; the advice; columns and flags after it
COLUMNS = {
    "keep one of two splits": (TWO_SPLITS, "keep one,", SPLIT, {}),
    "name the split": (TWO_SPLITS, "or give --split COLUMN", TWO_SPLITS, {"split": "partition"}),
    "correct a cell": (ODD, "correct it,", SPLIT, {}),
    "do without the column": (ODD, "or give --split none", ODD, NO_SPLIT),
    "another column": (SPLIT, "columns: path, label, split", SPLIT, {"split": "split"}),
    "fill in a flag": (FLAG, "fill it in,", {"is_test": parts(0, 1)}, {}),
    "do without the flag": (FLAG, "or give --split none", FLAG, NO_SPLIT),
    "correct two flags": (FLAGS, "correct it,", {"is_val": parts(0, 1, 0), "is_test": parts(0, 0, 1)}, {}),
    "do without two flags": (FLAGS, "or give --split none", FLAGS, NO_SPLIT),
    "many folds": (FOLDS, "give --split none to divide at random", FOLDS, NO_SPLIT),
    "fill in a person": (GAPS, "fill it in,", {"person": PERSONS}, {}),
    "do without persons": (GAPS, "or give --group none", GAPS, {"group": "none"}),
    "seconds for frames": (FRAMES, "write start and end in seconds", SECONDS, {}),
    "whole videos": (FRAMES, "or rename it to train whole videos", {"of": ["5"] * 24, "also": ["9"] * 24}, {}),
    "an end after the start": (BACKWARDS, "correct one of them", SECONDS, {}),
    "two starts": (TWICE, "rename all but one", {"start": ["0.2"] * 24, "note": ["0.3"] * 24}, {}),
    "a lone time": (STAMP, "name it start, and give end or duration", SECONDS, {}),
    "a lone time, renamed": (STAMP, "or rename it to train whole videos", {"taken at": ["0.2"] * 24}, {}),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_what_a_message_on_columns_says_goes_on(case, tmp_path):
    columns, advice, mended, asked = COLUMNS[case]
    with pytest.raises(UserError, match=re.escape(advice)):
        found_in(tmp_path, columns, **({"split": "part"} if case == "another column" else {}))
    assert len(found_in(tmp_path, mended, **asked).videos) == 24


ROWS = [f"videos/v{number:02d}.mp4,{label}" for number, label in enumerate(LABELS)]
HEADER = "path,label"
# the table's lines; the advice; its lines after it
LINES = {
    "fill in a label": ([HEADER, "videos/v00.mp4,", *ROWS[1:]], "fill it in,", [HEADER, *ROWS]),
    "delete the row": ([HEADER, "videos/v00.mp4,", *ROWS[1:]], "or delete the row", [HEADER, *ROWS[1:]]),
    "a first line": ([], "needs a first line with path and label", [HEADER, *ROWS]),
    "add a row": ([HEADER], "add a row per video", [HEADER, *ROWS]),
    "rename a column": (
        ["path,label,label", *(f"{row},x" for row in ROWS)],
        "rename one",
        ["path,label,note", *(f"{row},x" for row in ROWS)],
    ),
    "delete a repeated row": ([HEADER, ROWS[0], *ROWS], "delete one", [HEADER, *ROWS]),
    "quote a comma": (
        [HEADER, *ROWS, "videos/v0, first.mp4,sit"],
        "quote text that holds the separator,",
        [HEADER, *ROWS, '"videos/v0, first.mp4",sit'],
    ),
    "correct the quotes": ([HEADER, *ROWS, '"videos/v00.mp4" x,sit'], "correct the quotes", [HEADER, *ROWS]),
    "slashes": (
        [HEADER, *(row.replace("/", "\\") for row in ROWS)],
        "write / for the backslashes",
        [HEADER, *ROWS],
    ),
    "one label": ([HEADER, "videos/v00.mp4,sit|turn", *ROWS[1:]], "keep one", [HEADER, *ROWS]),
    "codes of splits": (
        [f"videos/v{number:02d}.mp4 {1 + number % 2}" for number in range(24)],
        "write a table with columns path, label and split",
        ["path,label,split", *(f"{row},{'train' if n % 4 else 'test'}" for n, row in enumerate(ROWS))],
    ),
    "numbers": (
        [f"videos/v{number:02d}.mp4 {number} {number % 2}" for number in range(24)],
        "name the columns in a first line, such as path,frames,label",
        ["path,frames,label", *(f"videos/v{number:02d}.mp4,{number},{number % 2}" for number in range(24))],
    ),
}


@pytest.mark.parametrize("case", LINES)
def test_what_a_message_on_lines_says_goes_on(case, tmp_path):
    lines, advice, mended = LINES[case]
    path = tmp_path / ("split_1.csv" if case == "codes of splits" else "labels.csv")
    path.write_text("\n".join(lines))
    with pytest.raises(UserError, match=re.escape(advice)):
        find_own_videos(path)
    path.write_text("\n".join(mended))
    assert len(find_own_videos(path).class_names) == 2


def test_a_table_in_another_encoding_is_read_once_it_is_saved_as_told(tmp_path):
    path = tmp_path / "labels.csv"
    text = "\n".join([HEADER, *ROWS]).replace("sit", "öffnen")
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match="save it as UTF-8"):
        find_own_videos(path)
    path.write_bytes(text.encode())
    assert find_own_videos(path).class_names == ["turn", "öffnen"]


@pytest.fixture
def place(tmp_path):
    """Folder with two classes of six files that end like videos."""
    for label in ("sit", "turn"):
        (tmp_path / "mine" / label).mkdir(parents=True)
        for number in range(6):
            (tmp_path / "mine" / label / f"{label} {number}.mp4").write_bytes(f"{label}{number}".encode())
    return tmp_path / "mine"


def test_two_tables_of_one_folder_are_chosen_between_as_told(tmp_path):
    first, second = table(tmp_path, {}, "first.csv"), table(tmp_path, {}, "second.csv")
    with pytest.raises(UserError, match="give one of them, or keep one there"):
        find_own_videos(tmp_path)
    assert len(find_own_videos(first).videos) == 24
    second.unlink()
    assert len(find_own_videos(tmp_path).videos) == 24


def test_a_file_that_is_there_twice_is_kept_once_as_told(place):
    link = place / "turn/link.mp4"
    link.symlink_to(place / "sit/sit 0.mp4")
    with pytest.raises(UserError, match="keep one of them"):
        find_own_videos(place)
    link.unlink()
    assert len(find_own_videos(place).videos) == 12


def test_a_folder_that_cannot_be_read_goes_elsewhere_as_told(place, tmp_path, monkeypatch):
    closed = place / "closed"
    closed.mkdir()
    scandir = os.scandir

    def refused(path=".", *args):
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path, *args)

    monkeypatch.setattr("os.scandir", refused)
    with pytest.raises(UserError, match="make it readable, or move it elsewhere"):
        find_own_videos(place)
    closed.rename(tmp_path / "elsewhere")
    assert len(find_own_videos(place).videos) == 12


def test_videos_beside_splits_go_into_class_folders_as_told(tmp_path, place):
    flat = tmp_path / "flat"
    for name in ("train", "test"):
        (flat / name).mkdir(parents=True)
        (flat / name / "one.mp4").write_bytes(b"")
    with pytest.raises(UserError, match=r"expected .*CLASS/VIDEO.mp4") as error:
        find_own_videos(flat)
    assert f"{flat}/train/CLASS/VIDEO.mp4" in str(error.value)
    shutil.rmtree(flat)
    shutil.copytree(place, flat / "train")
    assert len(find_own_videos(flat).videos) == 12


def videos(counts, split=None):
    """Return videos of classes by name and number."""
    return [OwnVideo(f"{label}/{label}{n}.mp4", label, split) for label, count in counts.items() for n in range(count)]


def test_classes_get_the_videos_that_they_need_as_told():
    with pytest.raises(UserError, match="give two classes at least") as error:
        without_rare(videos({"sit": 1, "turn": 9}))
    (least,) = re.findall(r"at least (\d+) videos each", str(error.value))
    assert len(without_rare(videos({"sit": int(least), "turn": int(least)}))[0]) == 2 * int(least)


def test_splits_get_training_videos_as_told():
    tested = videos({"sit": 4, "turn": 4}, "test")
    with pytest.raises(UserError, match="give training videos too"):
        assign_splits(tested, None)
    trained = videos({"sit": 9, "turn": 9}, "train")
    assert assign_splits([*tested, *trained], None)[0]

    other = videos({"jump": 2}, "test")
    with pytest.raises(UserError, match="give it training videos, or take its test videos out"):
        assign_splits([*trained, *tested, *other], None)
    assert assign_splits([*trained, *tested, *other, *videos({"jump": 3}, "train")], None)[0]
    assert assign_splits([*trained, *tested], None)[0]


def test_classes_get_a_second_video_for_training_as_told():
    single = videos({f"class {number}": 1 for number in range(FEW_TO_TRAIN)}, "train")
    tested = videos({"class 0": 4, "class 1": 4}, "test")
    with pytest.raises(UserError, match="add videos to train/"):
        assign_splits([*single, *tested], None)
    added = [OwnVideo(f"more/{video.path}", video.label, "train") for video in single]
    assert assign_splits([*single, *added, *tested], None)[0]


def test_an_output_beside_the_videos_is_given_elsewhere_as_told(place):
    with pytest.raises(UserError, match="give another folder"):
        experiment_file(place, place)
    assert experiment_file(place, place.parent / "own") == place.parent / "own/mine.yaml"


def test_default_weights_that_cannot_be_fetched_are_copied_as_told(monkeypatch, capsys, tmp_path):
    def offline(release):
        raise NotFetched(release, "no network")

    monkeypatch.setattr("lit_video.own_videos.starts.fetch", offline)
    assert not at_hand(DEFAULT_WEIGHTS, "Trained from scratch")
    (command,) = re.findall(r"run lit_video (.*) on a machine with a network", capsys.readouterr().out)
    assert parse(command.split()).run


def test_a_model_that_is_of_no_use_is_given_more_as_told(tmp_path):
    (tmp_path / "docs").mkdir()
    wrong = TaskPredictions(
        predicted=np.array([0, 0, 0, 1]),
        rank=np.array([0, 1, 1, 0]),
        confidence=np.ones(4),
        target=np.array([0, 1, 1, 1]),
        classes=["sit", "turn"],
    )
    told = next_step(tmp_path, Predictions(np.arange(4), {"": wrong}))
    (flags,) = re.findall(r"give it more time \((.*?)\)", told)
    assert flags == "--minutes N and another --output" and "(--weights NAME)" in told
    command = [
        "finetune",
        str(tmp_path / "docs"),
        "--minutes",
        "9",
        "--output",
        str(tmp_path / "more"),
        "--weights",
        "hub:drawn",
    ]
    assert parse(command).run


def test_one_group_gets_others_as_told():
    mine = videos({"sit": 6, "turn": 6})
    with pytest.raises(UserError, match="add others"):
        folds(mine, ["room"] * 12)
    assert folds(mine, ["room", "garden"] * 6)[0]


def test_copies_and_segments_are_kept_apart_as_told():
    pair = [OwnVideo("sit/a.mp4", "sit"), OwnVideo("turn/b.mp4", "turn")]
    with pytest.raises(UserError, match="keep each in the class that it shows"):
        refuse_equal_files(pair, ["same", "same"])
    refuse_equal_files(pair[:1], ["same"])
    in_splits = [OwnVideo("a.mp4", "sit", "train"), OwnVideo("b.mp4", "sit", "test")]
    with pytest.raises(UserError, match="keep each in one split"):
        refuse_equal_files(in_splits, ["same", "same"])
    refuse_equal_files(in_splits[:1], ["same"])

    halves = [OwnVideo("a.mp4", "sit", split, start=start) for split, start in (("train", 0.0), ("test", 5.0))]
    with pytest.raises(UserError, match="keep each video in one split, or ask for it by --group none"):
        refuse_segments_of_learned_videos(halves)
    refuse_segments_of_learned_videos(halves[:1])


def test_a_guessed_group_is_named_by_a_column_as_told(tmp_path):
    names = [OwnVideo(f"{label}/rec{n // 4}_{n}.mp4", label) for label in ("sit", "turn") for n in range(16)]
    told = find_groups(names)
    assert "give --group COLUMN" in told.reason
    own = found_in(tmp_path, {"room": [str(n // 4) for n in range(24)]}, group="room")
    assert len({*find_groups(own.videos, "room").names}) == 6


def test_columns_that_are_not_used_name_the_flags_that_use_them(tmp_path):
    notes = found_in(tmp_path, {"Subject": [""] * 24, "place": PERSONS}).notes[0]
    assert notes.count("--group COLUMN") == 2
    own = found_in(tmp_path, {"place": PERSONS}, group="place")
    assert "`place`" in own.notes[0]
