"""Test that videos are found in all usual layouts, and that mistakes are reported in one line."""

import os

import numpy as np
import pytest

from lit_video.datamodules import VideoCSV
from lit_video.datamodules.drawing import encode
from lit_video.errors import UserError
from lit_video.own_videos.finding import find_own_videos


def touch(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


def make(root, frames_of):
    """Write videos with so many frames."""
    for path, count in frames_of.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        encode(root / "made.mp4", np.zeros((count, 16, 16, 3), np.uint8), 8)
        (root / "made.mp4").rename(root / path)


def test_class_folders(tmp_path):
    touch(tmp_path, "walk/b.mp4", "walk/a.MKV", "sit/c.webm", "sit/notes.txt", "sit/more/d.mp4", ".git/e.mp4")
    found = find_own_videos(tmp_path)
    assert [(video.path, video.label, video.split) for video in found.videos] == [
        ("sit/c.webm", "sit", None),
        ("walk/a.MKV", "walk", None),
        ("walk/b.mp4", "walk", None),
    ]
    assert found.unused == {".txt": 1, ".mp4 in sit/": 1}
    assert found.where == "class folders"


@pytest.mark.parametrize("column", ["subset", "Usage"])
def test_a_table_with_other_names_of_columns(column, tmp_path):
    lines = f"Filename;Category;{column};who\na.mp4;walk;training;x\nb.mp4;sit;dev;y\n"
    (tmp_path / "labels.csv").write_text(lines)
    found = find_own_videos(tmp_path)
    read = [(video.path, video.label, video.split) for video in found.videos]
    assert read == [("a.mp4", "walk", "train"), ("b.mp4", "sit", "val")]
    assert found.videos[0].columns["who"] == "x"
    assert found.where == "labels.csv"


LISTS = {  # tables without a header: their lines, and the labels
    "ids": ("walk/a walk\nwalk/b walk\nsit/c sit\n", ["walk", "walk", "sit"]),
    "frames": ("walk/a.mp4 24 0\nwalk/b.mp4 8 0\nsit/c.webm 9 1\n", ["0", "0", "1"]),
    "frames and ids": ("walk/a,24,0\nwalk/b,8,0\nsit/c,9,1\n", ["0", "0", "1"]),
    "frames last": ("walk/a.mp4 0 24\nwalk/b.mp4 0 8\nsit/c.webm 1 9\n", ["0", "0", "1"]),
    "folders": ("walk/a.mp4\nwalk/b.mp4\nsit/c.webm\n", ["walk", "walk", "sit"]),
    "a header and ids": ("video,label\nwalk/a,x\nwalk/b,x\nsit/c,y\n", ["x", "x", "y"]),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("ending", [".txt", ".csv"])
def test_lists_are_read_as_video_csv_reads_them(name, ending, tmp_path):
    make(tmp_path, {"walk/a.mp4": 24, "walk/b.mp4": 8, "sit/c.webm": 9})
    lines, labels = LISTS[name]
    (tmp_path / f"videos{ending}").write_text(lines)
    found = find_own_videos(tmp_path / f"videos{ending}")
    assert [(video.path, video.label) for video in found.videos] == [
        *zip(("walk/a.mp4", "walk/b.mp4", "sit/c.webm"), labels, strict=True)
    ]


NAMED = [("trainlist01", "testlist01"), ("train_list", "val_list"), ("train_videos", "test_videos"), ("train", "test1")]


@pytest.mark.parametrize(("train", "other"), NAMED)
@pytest.mark.parametrize("labels", [True, False])
def test_a_list_for_each_split_is_found_by_its_name(train, other, labels, tmp_path):
    touch(tmp_path, *(f"{label}/{i}.avi" for label in ("walk", "sit") for i in range(4)))
    rows = [f"{label}/{i}.avi {number}" for number, label in enumerate(("walk", "sit")) for i in range(3)]
    (tmp_path / f"{train}.txt").write_text("\n".join(rows))
    (tmp_path / f"{other}.txt").write_text("walk/3.avi 0\nsit/3.avi 1\n" if labels else "walk/3.avi\nsit/3.avi\n")
    found = find_own_videos(tmp_path)
    assert found.class_names == (["0", "1"] if labels else ["sit", "walk"])
    assert {video.split for video in found.videos} == {"train", "val" if other.startswith("val") else "test"}
    assert len(found.videos) == 8


def test_backslashes_are_named_as_what_is_wrong(tmp_path):
    touch(tmp_path, "walk/a.mp4", "sit/b.mp4")
    (tmp_path / "train.csv").write_text("path,label\nwalk\\a.mp4,walk\nsit\\b.mp4,sit\n")
    (tmp_path / "val.csv").write_text("path,label\nwalk\\a.mp4,walk\n")
    with pytest.raises(UserError, match=r"line 2, column path: .* write / for the backslashes"):
        find_own_videos(tmp_path)
    with pytest.raises(UserError, match=r"2 of 2 train videos are missing .* write / for the backslashes"):
        VideoCSV(root=str(tmp_path)).check()


def test_columns_that_name_splits_do_not_matter_in_the_table_of_one_split(tmp_path):
    (tmp_path / "train.csv").write_text("path,label,split,subset\na.mp4,walk,val,train\nb.mp4,sit,1,train\n")
    assert [video.split for video in find_own_videos(tmp_path).videos] == ["train", "train"]


def test_a_table_outside_of_a_folder_and_absolute_paths(tmp_path):
    """Resolve paths from the table's folder; the root is their common folder."""
    touch(tmp_path, "videos/a.mp4", "videos/more/b.mp4")
    table = tmp_path / "tables" / "all.csv"
    table.parent.mkdir()
    table.write_text(f"path,label\n{tmp_path / 'videos/a.mp4'},walk\n../videos/more/b.mp4,sit\n")
    found = find_own_videos(table)
    assert (found.root, found.where) == (tmp_path / "videos", "all.csv")
    assert [video.path for video in found.videos] == ["a.mp4", "more/b.mp4"]
    table.write_text("path,label\na.mp4,walk\nb.mp4,sit\n")
    assert find_own_videos(table).root == table.parent


def test_class_folders_beside_a_table_that_is_none_of_videos(tmp_path):
    touch(tmp_path, "walk/a.mp4", "sit/b.mp4")
    (tmp_path / "notes.csv").write_text("id,label\n1,walk\n")
    assert (
        "not used: notes.csv begins with 'id, label'; needs a first line with path" in find_own_videos(tmp_path).where
    )


TIMED = "path,label,start_frame,end_frame\na.mp4,walk,1,2\nb.mp4,sit,1,2\n"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "holds no file: no video; expected "),
        ({"a.csv": "path,label\nx,y\n", "b.csv": "path,label\nx,y\n"}, "a.csv, b.csv could all be the table"),
        ({"labels.csv": "path,label,split\na.mp4,walk,spare\n"}, "line 2, column split: is 'spare', expected"),
        ({"train.csv": "a.mp4 walk\nb c.mp4 sit\n"}, "line 2: 3 fields, expected 2 (path, label); quote"),
        ({"a.csv": "path,class,label\na.mp4,sport,run\n"}, "columns class and label: several labels per video are not"),
        ({"a.csv": "path,label,s1,s2\na,walk,train,test\n"}, "columns s1, s2 could all name the splits; keep one"),
        # other kinds of data: the message says what was found
        ({"walk/1.jpg": "", "sit/2.jpg": ""}, "holds 2 .jpg: no video; for pictures and folders of frames see docs"),
        ({"all/walk/a.mp4": "", "all/sit/b.mp4": ""}, "holds 2 .mp4: all/sit/b.mp4 lies in no class folder"),
        # other tasks
        ({"labels.csv": "path,label\na.mp4,walk|sit\nb.mp4,sit\n"}, "line 2, column label: is 'walk|sit'; several"),
        (
            {"labels.csv": "path,label\na.mp4,walk\na.mp4,sit\n"},
            "line 3, column path: a.mp4 is there already, at line 2",
        ),
        (
            {"labels.csv": TIMED},
            "column 'start_frame' looks like a segment, counted in frames; write start and end in seconds",
        ),
        (
            {"labels.csv": "path,labels\nvideos/a.mp4,walk\n", "videos/a.mp4": ""},
            "one class (videos); a classifier needs two or more; looked at class folders; not used: "
            "labels.csv begins with 'path, labels'; needs a first line with path and label; expected ",
        ),
        ({"labels.csv": "path,label\nv,walk\nw,sit\n", "v/1.jpg": ""}, "v: is a picture or a folder of frames"),
    ],
)
def test_mistakes(files, message, tmp_path):
    for name, text in files.items():
        touch(tmp_path, name)
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as error:
        find_own_videos(tmp_path)
    assert message in str(error.value)


def test_a_pipe_in_place_of_a_table_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "labels.csv")
    with pytest.raises(UserError, match="holds no file: no video"):
        find_own_videos(tmp_path)


def test_whole_numbers_with_a_point_are_classes_by_size(tmp_path):
    (tmp_path / "labels.csv").write_text("path,label\na.mp4,0.0\nb.mp4,10.0\nc.mp4,2.0\n")
    assert find_own_videos(tmp_path).class_names == ["0.0", "2.0", "10.0"]


def test_folders_of_splits_that_hold_videos_are_no_classes(tmp_path):
    touch(tmp_path, *(f"{split}/{number}.mp4" for split in ("train", "test") for number in range(4)))
    (tmp_path / "train" / "metadata.csv").write_text("file_name,label\n0.mp4,a\n1.mp4,b\n")
    with pytest.raises(
        UserError, match=r"test, train are splits, and hold videos without class folders; expected .*csv"
    ):
        find_own_videos(tmp_path)


@pytest.mark.parametrize(
    ("paths", "found", "splits", "unused"),
    [
        (["Train/a/1", "Train/b/1", "TEST/a/2", "Validation/b/2"], "class folders in Train, Validation, TEST", 3, {}),
        (
            ["train/a/1", "train/b/1", "train/x", "eval/a/2", "eval/b/2", "test/2"],
            "class folders in train, eval",
            2,
            {".mp4 in train/": 1, ".mp4 in test/": 1},
        ),
        (
            ["train/a/1", "train/b/1", "val/a/2", "validation/a/2"],
            "class folders in train, val",
            2,
            {".mp4 in validation/": 1},
        ),
        (["Test/1", "bus/1"], "class folders; Test read as a class: no class folders in it", 0, {}),
        (["bus/1", "car/2", "test/bus/3", "4"], "class folders", 0, {".mp4 in test/": 1, ".mp4": 1}),
        (["test/a/1", "val/b/1"], "class folders in val, test", 2, {}),
    ],
)
def test_a_folder_is_a_split_or_a_class_by_what_it_holds(paths, found, splits, unused, tmp_path):
    touch(tmp_path, *(f"{path}.mp4" for path in paths))
    there = find_own_videos(tmp_path)
    assert (there.where, there.unused) == (found, unused)
    assert len({video.split for video in there.videos} - {None}) == splits


@pytest.mark.parametrize("name", ["list.csv", "train.txt"])
def test_a_list_of_videos_needs_no_header_and_other_files_are_named(name, tmp_path):
    touch(tmp_path, "v/a.mp4", "v/b.mp4", "v/c.mp4")
    (tmp_path / name).write_text("v/a.mp4 10\nv/b.mp4 9\n")
    (tmp_path / "notes.txt").write_text("of yesterday\n")
    found = find_own_videos(tmp_path)
    assert [(video.path, video.label) for video in found.videos] == [("v/a.mp4", "10"), ("v/b.mp4", "9")]
    assert (found.class_names, found.unused) == (["9", "10"], {".mp4": 1, ".txt": 1})


def test_each_split_has_a_table_and_a_second_one_is_named(tmp_path):
    for name in ("train", "val", "validation", "eval"):
        (tmp_path / f"{name}.csv").write_text(f"path,label\n{name}1.mp4,a\n{name}2.mp4,b\n")
    found = find_own_videos(tmp_path)
    assert [video.split for video in found.videos] == ["train", "train", "val", "val", "test", "test"]
    assert (found.where, found.unused) == ("train.csv, val.csv, eval.csv", {".csv": 1})


@pytest.mark.parametrize("link", ["test", "test/a/1.mp4", "test/b/1.mp4"])
def test_a_file_that_is_there_twice_by_a_link_is_refused(link, tmp_path):
    touch(tmp_path, "train/a/1.mp4", "train/b/2.mp4")
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "train" / ("" if link == "test" else "a/1.mp4"))
    with pytest.raises(UserError, match=r"test/./1.mp4: is the same file as .*train/a/1.mp4; keep one of them"):
        find_own_videos(tmp_path)
