"""Videos are found in the ways that people keep them, and what is wrong is said in a line."""

import os

import pytest

from lit_video.errors import UserError
from lit_video.own_videos.finding import find_videos


def touch(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


def test_class_folders(tmp_path):
    touch(tmp_path, "walk/b.mp4", "walk/a.MKV", "sit/c.webm", "sit/notes.txt", "sit/more/d.mp4", ".git/e.mp4")
    found = find_videos(tmp_path)
    assert [(video.path, video.label, video.split) for video in found.videos] == [
        ("sit/c.webm", "sit", None),
        ("walk/a.MKV", "walk", None),
        ("walk/b.mp4", "walk", None),
    ]
    assert found.unused == {".txt": 1, "folders": 1}
    assert found.found == "class folders"


def test_split_folders_under_their_usual_names(tmp_path):
    touch(tmp_path, "train/walk/a.mp4", "train/sit/b.mp4", "validation/walk/c.mp4", "test/sit/d.mp4")
    found = find_videos(tmp_path)
    assert {video.path: video.split for video in found.videos} == {
        "train/walk/a.mp4": "train",
        "train/sit/b.mp4": "train",
        "validation/walk/c.mp4": "val",
        "test/sit/d.mp4": "test",
    }
    assert found.class_names == ["sit", "walk"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_with_other_names_of_columns(separator, tmp_path):
    touch(tmp_path, "a.mp4", "b.mp4")
    lines = [
        ["Filename", "Category", "subset", "who"],
        ["a.mp4", "walk", "training", "x"],
        ["b.mp4", "sit", "dev", "y"],
    ]
    (tmp_path / "labels.csv").write_text("\n".join(separator.join(line) for line in lines))
    found = find_videos(tmp_path)
    assert [(video.path, video.label, video.split) for video in found.videos] == [
        ("a.mp4", "walk", "train"),
        ("b.mp4", "sit", "val"),
    ]
    assert found.videos[0].columns["who"] == "x"
    assert found.found == "labels.csv"


def test_a_table_for_each_split(tmp_path):
    (tmp_path / "train.csv").write_text("path,label\na.mp4,walk\nb.mp4,sit\n")
    (tmp_path / "test.csv").write_text("path,label\nc.mp4,walk\n")
    assert [video.split for video in find_videos(tmp_path).videos] == ["train", "train", "test"]


def test_a_table_outside_of_a_folder_and_absolute_paths(tmp_path):
    """Paths count from the table's folder, or from what all have in common."""
    touch(tmp_path, "videos/a.mp4", "videos/more/b.mp4")
    table = tmp_path / "tables" / "all.csv"
    table.parent.mkdir()
    table.write_text(f"path,label\n{tmp_path / 'videos/a.mp4'},walk\n../videos/more/b.mp4,sit\n")
    found = find_videos(table)
    assert (found.root, found.found) == (tmp_path / "videos", "all.csv")
    assert [video.path for video in found.videos] == ["a.mp4", "more/b.mp4"]
    table.write_text("path,label\na.mp4,walk\nb.mp4,sit\n")
    assert find_videos(table).root == table.parent


def test_parts_of_videos_by_seconds_or_by_the_clock(tmp_path):
    (tmp_path / "labels.csv").write_text("path,label,Start,End\na.mp4,walk,1.5,4\na.mp4,sit,0:04,\n")
    videos = find_videos(tmp_path).videos
    assert [(video.start, video.end) for video in videos] == [(1.5, 4.0), (4.0, None)]


def test_class_folders_beside_a_table_that_is_none_of_videos(tmp_path):
    touch(tmp_path, "walk/a.mp4", "sit/b.mp4")
    (tmp_path / "notes.csv").write_text("id,label\n1,walk\n")
    assert "not used: notes.csv has columns id, label; needs path" in find_videos(tmp_path).found


TIMED = "path,label,{}\na.mp4,walk,1,2\nb.mp4,sit,1,2\n"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "holds no file: no video; expected "),
        ({"walk/a.mp4": ""}, "holds one class (walk); a classifier needs two or more"),
        ({"a.csv": "path,label\nx,y\n", "b.csv": "path,label\nx,y\n"}, "a.csv, b.csv could all be the table"),
        (
            {"labels.csv": "path,label,split\na.mp4,walk,holdout\n"},
            "line 2, column split: is 'holdout', expected train",
        ),
        ({"labels.csv": "path,label\na.mp4,\n"}, "line 2, column label: is empty"),
        ({"train.csv": "a.mp4 walk\n"}, "train.csv begins with 'a.mp4, walk', no header"),
        # of other kinds of data: what is there is said
        ({"walk/1.jpg": "", "sit/2.jpg": ""}, "holds 2 .jpg: sit/2.jpg is a picture"),
        ({"walk/v1/1.jpg": "", "sit/v2/1.jpg": ""}, "holds 2 .jpg: sit/v2/1.jpg is in a folder of frames"),
        ({"a.mp4": "", "b.mp4": ""}, "holds 2 .mp4: a.mp4 and others lie in no class folder"),
        ({"all/walk/a.mp4": "", "all/sit/b.mp4": ""}, "holds 2 .mp4: all/sit/b.mp4 lies too deep; give "),
        (
            {"k400.csv": "label,youtube_id,time_start\nwalk,x,1\n"},
            "k400.csv has columns label, youtube_id, time_start; needs path; expected",
        ),
        ({"list.csv": "a.mp4,walk\nb.mp4,sit\n"}, "list.csv begins with 'a.mp4, walk', no header"),
        ({"labels.csv": "path,verb,noun\na.mp4,x,y\n"}, "labels.csv has columns path, verb, noun; needs label"),
        # of other tasks
        ({"labels.csv": "path,label\na.mp4,walk|sit\nb.mp4,sit\n"}, "line 2, column label: is 'walk|sit'; several"),
        ({"labels.csv": "path,label\na.mp4,walk;sit\nb.mp4,sit\n"}, "line 2, column label: is 'walk;sit'; several"),
        ({"labels.csv": "path,label,label_2\na.mp4,x,y\n"}, "column label_2: several labels per video"),
        (
            {"labels.csv": "path,label\na.mp4,walk\na.mp4,sit\n"},
            "line 3, column path: a.mp4 is there already, at line 2",
        ),
        ({"labels.csv": "path,label\na.mp4,0.37\nb.mp4,1\n"}, "column label: holds quantities such as 0.37, 2 diff"),
        (
            {"labels.csv": TIMED.format("start_frame,end_frame")},
            "column start_frame: parts of videos have columns start",
        ),
        ({"labels.csv": TIMED.format("startTime,endTime")}, "column startTime: parts of videos have columns start"),
        ({"labels.csv": TIMED.format("t_min,t_max")}, "column t_min: parts of videos have columns start"),
        (
            {"labels.csv": "path,labels\nvideos/a.mp4,walk\n", "videos/a.mp4": ""},
            "one class (videos); a classifier needs two or more; looked at class folders; not used: "
            "labels.csv has columns path, labels; needs label; expected ",
        ),
        ({"labels.csv": "path,label\nv,walk\nw,sit\n", "v/1.jpg": ""}, "v: is a picture or a folder of frames"),
    ],
)
def test_mistakes(files, message, tmp_path):
    for name, text in files.items():
        touch(tmp_path, name)
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as error:
        find_videos(tmp_path)
    assert message in str(error.value)


def test_a_pipe_in_place_of_a_table_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "labels.csv")
    with pytest.raises(UserError, match="holds no file: no video"):
        find_videos(tmp_path)


def test_whole_numbers_with_a_point_are_classes(tmp_path):
    (tmp_path / "labels.csv").write_text("path,label\na.mp4,0.0\nb.mp4,1.0\n")
    assert find_videos(tmp_path).class_names == ["0.0", "1.0"]
