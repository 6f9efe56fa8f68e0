"""Test tables as others make them: the column of paths, tables of other things, segments, and tables for predict."""

import numpy as np
import pytest

from lit_video.datamodules import VideoCSV
from lit_video.datamodules.drawing import encode
from lit_video.errors import UserError
from lit_video.inference.videos import find_videos
from lit_video.own_videos.finding import OwnVideo, find_own_videos
from lit_video.own_videos.groups import find_groups
from lit_video.own_videos.plan import Inspected, divide
from lit_video.utils.files import is_video
from tests.own_videos.test_finding import make, touch

VIDEOS = [f"clips/{name}.mp4" for name in "abcd"]


@pytest.mark.parametrize(
    "lines",
    [
        "video,path,label\n{i},clips/{n}.mp4,{c}",
        "label,file_name\n{c},clips/{n}.mp4",  # metadata.csv of Hugging Face
        "id,Class,VideoPath\n{i},{c},clips/{n}.mp4",
        "name,clip,action\nof {i},clips/{n},{c}",
        "youtube_id,label\nclips/{n},{c}",
        "label_id,label,path\n{k},{c},clips/{n}.mp4",
        "Video File;Target\nclips/{n}.mp4;{c}",
    ],
)
def test_the_column_whose_cells_are_videos_holds_the_paths(lines, tmp_path):
    touch(tmp_path, *VIDEOS)
    header, row = lines.split("\n")
    rows = [row.format(i=1000 + i, n=n, c=["walk", "sit"][i % 2], k=i % 2) for i, n in enumerate("abcd")]
    (tmp_path / "metadata.csv").write_text("\n".join([header, *rows]))
    own = find_own_videos(tmp_path)
    assert [(video.path, video.label) for video in own.videos] == [*zip(VIDEOS, ["walk", "sit"] * 2, strict=True)]


@pytest.mark.parametrize(
    "text", ["label,name\n0,walk\n1,sit\n", "id,class\n0,walk\n1,sit\n", "class,video\nwalk,12\nsit,9\n"]
)
def test_a_table_of_the_classes_is_no_table_of_videos(text, tmp_path):
    touch(tmp_path, "walk/a.mp4", "sit/b.mp4")
    (tmp_path / "labels.csv").write_text(text)
    own = find_own_videos(tmp_path)
    assert own.class_names == ["sit", "walk"] and "not used: labels.csv begins with" in own.where


@pytest.mark.parametrize("text", ["id,path\n1,clips/d.mp4\n", "path\nclips/d.mp4\n", "video_name\nclips/d.mp4\n"])
def test_a_test_table_without_labels_is_named_and_not_used(text, tmp_path):
    touch(tmp_path, *VIDEOS)
    (tmp_path / "train.csv").write_text("path,label\nclips/a.mp4,walk\nclips/b.mp4,sit\n")
    (tmp_path / "test.csv").write_text(text)
    own = find_own_videos(tmp_path)
    assert len(own.videos) == 2 and own.notes == ["not used: test.csv, which has no labels"]


@pytest.mark.parametrize("folder", ["eval", "holdout", "Held-out", "evaluation", "dev", "PublicTest", "validation_set"])
def test_folders_of_splits_are_read_in_other_words(folder, tmp_path):
    touch(tmp_path, *(f"{split}/{label}/1.mp4" for split in ("train", folder) for label in "ab"))
    own = find_own_videos(tmp_path)
    assert own.class_names == ["a", "b"] and len({video.split for video in own.videos}) == 2


@pytest.mark.parametrize("name", ["a.m2t", "a.3gpp", "a.MOD", "a.m2p", "a.tod", "a.mts"])
def test_endings_of_cameras_are_seen_in_folders(name):
    assert is_video(name)


@pytest.mark.parametrize("name", ["brush_hair_test_split1.txt", "list.txt"])
def test_codes_of_splits_are_no_classes(name, tmp_path):
    """HMDB51's lists have 1 for training, 2 for the test and 0 for neither."""
    paths = [f"{label}/{i}.avi" for label in ("brush", "walk") for i in range(6)]
    touch(tmp_path, *paths)
    (tmp_path / name).write_text("\n".join(f"{path} {i % 3}" for i, path in enumerate(paths)))
    with pytest.raises(
        UserError, match=r"the numbers 0, 1, 2 are not classes but splits .*columns path, label and split"
    ):
        find_own_videos(tmp_path / name)
    (tmp_path / "list.txt").write_text("\n".join(f"{path} {i // 6}" for i, path in enumerate(paths)))
    assert find_own_videos(tmp_path / "list.txt").class_names == ["0", "1"], "classes are"


def test_two_whole_numbers_of_which_neither_is_the_number_of_frames_are_refused(tmp_path):
    make(tmp_path, {"a.mp4": 12, "b.mp4": 20})
    (tmp_path / "list.txt").write_text("a.mp4 0 60\nb.mp4 1 61\n")
    with pytest.raises(UserError, match=r"line 1: two whole numbers, .* name the columns in a first line"):
        find_own_videos(tmp_path / "list.txt")


def test_predict_reads_a_table_with_its_segments_and_names_the_other_columns(tmp_path, capsys):
    touch(tmp_path, *VIDEOS)
    rows = [f"{path},walk,S{i},0.{i},1.5" for i, path in enumerate(VIDEOS)]
    (tmp_path / "list.csv").write_text("\n".join(["path,label,Subject,clipStart,clipEnd", *rows]))
    records = find_videos(tmp_path / "list.csv")
    assert [record.path for record in records] == [tmp_path / path for path in VIDEOS]
    assert [(record.start, record.end) for record in records] == [(i / 10, 1.5) for i in range(4)]
    assert "list.csv: columns that are not used: label, Subject" in capsys.readouterr().err
    (tmp_path / "list.txt").write_text("\n".join(VIDEOS))
    assert [record.start for record in find_videos([tmp_path / "list.txt", tmp_path / "clips"])] == [None] * 4
    (tmp_path / "notes.csv").write_text("who,when\nme,now\n")
    with pytest.raises(UserError, match=r"notes.csv: lists no videos; expected a column path"):
        find_videos(tmp_path / "notes.csv")


def parts_of(files, per_file, split=None):
    """Return segments of some files, of two classes in turn."""
    segments = [(file, number) for file in range(files) for number in range(per_file)]
    return [
        OwnVideo(f"{file}x.mp4", "ab"[number % 2], split and split(file, number), start=1.0 * number, end=number + 1.0)
        for file, number in segments
    ]


@pytest.mark.parametrize(("files", "together"), [(6, True), (1, False)])
def test_segments_of_one_video_stay_together_or_a_line_says_that_they_do_not(files, together, tmp_path, monkeypatch):
    monkeypatch.setattr("lit_video.own_videos.plan.copies", lambda paths: {})
    videos = parts_of(files, 8)
    divided = divide(Inspected(tmp_path, videos, {}, [], []), group=None, folds=True)
    pairs = {(video.path, video.split) for video in divided.videos}
    assert (len(pairs) == files) == together
    assert ("Segments of one video stay together." in " ".join(divided.notes)) == together
    assert ("segments of fewer than" in " ".join(divided.notes)) != together
    assert len({*divided.draw_names}) == files, "one draw each"


def test_a_given_split_that_tests_segments_of_videos_that_train_is_refused_unless_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("lit_video.own_videos.plan.copies", lambda paths: {})
    videos = parts_of(6, 8, lambda file, number: "test" if number > 5 else "train")
    with pytest.raises(
        UserError, match=r"12 segments of test are parts of videos that train too \(0x.mp4 \(6 to 7 s\)\)"
    ):
        divide(Inspected(tmp_path, videos, {}, [], []), group=None, folds=True)
    assert divide(Inspected(tmp_path, videos, {}, [], []), group="none", folds=True).tested == 12
    by_file = parts_of(6, 8, lambda file, number: "test" if file > 3 else "train")
    assert divide(Inspected(tmp_path, by_file, {}, [], []), group=None, folds=True).tested == 16


def test_video_csv_refuses_segments_of_learned_videos_unless_asked_for_and_counts_them(tmp_path, capsys):
    for name in "ab":
        encode(tmp_path / f"{name}.mp4", np.zeros((8, 16, 16, 3), np.uint8), 8)
    (tmp_path / "train.csv").write_text("path,label,start,end\na.mp4,x,0,0.4\nb.mp4,y,0,0.4\n")
    (tmp_path / "val.csv").write_text("path,label,start,end\na.mp4,x,0.4,0.9\n")
    count = "data.val: 1 segment of val are parts of videos of which others train"
    with pytest.raises(UserError, match=f"{count}.*set data.divides_videos: true"):
        VideoCSV(root=str(tmp_path)).check()
    VideoCSV(root=str(tmp_path), divides_videos=True).check()
    assert count in capsys.readouterr().err
    assert find_groups([OwnVideo("a.mp4", "x")] * 2).names is None
