"""Videos are found in the ways that people keep them, and what is wrong is said in a line."""

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


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "holds no videos by class; expected "),
        ({"walk/a.mp4": ""}, "holds one class (walk); a classifier needs two or more"),
        ({"a.csv": "path,label\nx,y\n", "b.csv": "path,label\nx,y\n"}, "a.csv, b.csv could all be the table"),
        (
            {"labels.csv": "path,label,split\na.mp4,walk,holdout\n"},
            "line 2, column split: is 'holdout', expected train",
        ),
        ({"labels.csv": "path,label\na.mp4,\n"}, "line 2, column label: is empty"),
        ({"train.csv": "a.mp4 walk\n"}, "train.csv: no header with a column path and a column label"),
    ],
)
def test_mistakes(files, message, tmp_path):
    for name, text in files.items():
        touch(tmp_path, name)
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as error:
        find_videos(tmp_path)
    assert message in str(error.value)
