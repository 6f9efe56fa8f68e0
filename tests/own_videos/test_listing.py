"""Test that a plan's table of videos is read back literally, and that no folder is taken for an empty one.

Names are drawn from all characters that a file system allows, by a seeded generator (hypothesis is no dependency).
"""

import os
import random

import pytest

from lit_video.__main__ import main
from lit_video.datamodules import VideoCSV, VideoFolder
from lit_video.datamodules.preparation import prepare_folder
from lit_video.errors import UserError
from lit_video.inference.videos import find_videos
from lit_video.own_videos.finding import OwnVideo, find_own_videos, write_videos
from lit_video.utils.files import entries_of, files_below
from lit_video.utils.text import class_name

# pieces of names: marks of tables, quotes, line ends, words, blanks of all kinds, no UTF-8, other scripts
PIECES = [
    *"aZ09 ,;|\t\"'`#=&%$!~(){}[]<>?*:@^\\\r\n",
    *("..", "path", "label", "label,path", "train", "-", "NaN", "1.0", "=1+1"),
    *("\u00a0", "\u200b", "\u2028", "\u3000", "\x0b", "\x1f", "\ufeff", "\udc80", "\udcff"),
    *("é", "e\u0301", "走", "ß", "💃", "👨\u200d👩\u200d👧"),
]
CLASSES = [
    ["0", "1", "A", "B"],
    ["180", "360", "kickflip"],
    [" walk", "run"],
    ["a;b", "c"],
    ["a|b", "c"],
    ["a\rb", "c"],
]
CLASSES += [["path", "label"], ['"', "''"], ["true", "null"], ["5.", "-5"], ["x\ny", "x y z"], ["\ufeffa", "b"]]


def drawn_name(random_numbers):
    """Return a name of one to six pieces without a slash."""
    while True:
        name = "".join(random_numbers.choices(PIECES, k=random_numbers.randint(1, 6)))
        if name not in (".", "..") and not name.startswith("."):
            return name


def read_back(folder, videos, **segments):
    """Write the table of videos in any folder, and return the records that VideoCSV reads."""
    columns = write_videos(folder / "own_videos.csv", videos, draws=[video.path for video in videos])
    settings = {"columns": columns, "label_separator": "", "split_column": "split", "train_values": ["train"]}
    data = VideoCSV(
        root=str(folder), train=str(folder / "own_videos.csv"), val_values=[], draw_column="group", **settings
    )
    return data, data.records("train")


@pytest.mark.parametrize("seed", range(60))
def test_any_names_of_files_and_classes_are_read_back_literally(seed, tmp_path):
    numbers = random.Random(seed)
    labels = sorted({drawn_name(numbers) for _ in range(5)} | {"walk"})
    videos = []
    for label in labels:
        for _ in range(3):
            path = f"{label}/{drawn_name(numbers)}.mp4"
            videos.append(OwnVideo(path, class_name(label), "train"))
    videos = [*{video.path: video for video in videos}.values()]
    data, records = read_back(tmp_path, videos)
    assert records.paths == [os.path.join(tmp_path, video.path) for video in videos]
    assert [data.class_names[record.label] for record in records] == [video.label for video in videos]
    assert len(data.draw_names("train")) == len(videos)


@pytest.mark.parametrize("classes", CLASSES)
def test_class_folders_that_were_refused_are_found_and_read_back(classes, tmp_path):
    for name in classes:
        (tmp_path / "v" / name).mkdir(parents=True)
        for number in range(3):
            (tmp_path / "v" / name / f"{number}x.mp4").touch()
    own = find_own_videos(tmp_path / "v")
    assert {*own.class_names} == {class_name(name) for name in classes}
    videos = [OwnVideo(video.path, video.label, "train") for video in own.videos]
    columns = write_videos(tmp_path / "own_videos.csv", videos)
    settings = {"columns": columns, "label_separator": "", "split_column": "split", "train_values": ["train"]}
    data = VideoCSV(root=str(tmp_path / "v"), train=str(tmp_path / "own_videos.csv"), val_values=[], **settings)
    data.check()
    assert [data.class_names[record.label] for record in data.records("train")] == [video.label for video in videos]


def test_segments_are_read_back_to_the_last_digit(tmp_path):
    times = [(0.1 + 0.2, 1 / 3 + 1), (None, 2.5), (7e-05, None)]
    videos = [OwnVideo(f"{i}.mp4", "ab"[i % 2], "train", start=start, end=end) for i, (start, end) in enumerate(times)]
    _, records = read_back(tmp_path, videos)
    assert [(record.start, record.end) for record in records] == times


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("walk", "walk"),
        (" walk ", "walk"),
        ("walk\u00a0fast", "walk fast"),
        ("wa\u200blk", "walk"),
        ("walk\u3000 \tfast", "walk fast"),
        ("\ufeffwalk", "walk"),
        ("walk\r\nfast", "walk fast"),
        ("wa\u00adlk", "walk"),
        ("e\u0301", "é"),
        ("👨\u200d👩", "👨\u200d👩"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("\u200b", "U+200B"),
    ],
)
def test_labels_that_look_alike_are_one_class_in_folders_and_tables(written, name, tmp_path):
    """Drop blanks around a name and characters that are not seen, but not those that change what is seen."""
    assert class_name(written) == class_name(name) == name
    for folder in (written, name, "other"):
        (tmp_path / "train" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "train" / folder / f"{len(folder)}.mp4").touch()
    assert {*find_own_videos(tmp_path / "train").class_names} == {name, "other"}
    assert {*VideoFolder(root=str(tmp_path)).class_names} == {name, "other"}
    (tmp_path / "train.csv").write_text(f'path,label\na.mp4,"{written}"\nb.mp4,{name}\nc.mp4,other\n', newline="")
    assert {*VideoCSV(root=str(tmp_path)).class_names} == {name, "other"}


@pytest.fixture(params=["Permission denied", "Stale file handle", "Input/output error"])
def unreadable(request, tmp_path, monkeypatch):
    """Folder of three splits and classes of which one place cannot be listed, for a reason of the system."""
    for split in ("train", "val", "test"):
        for label in "abc":
            (tmp_path / "v" / split / label).mkdir(parents=True)
            (tmp_path / "v" / split / label / "1.mp4").touch()
    listed = os.scandir
    closed = set()

    def scandir(place="."):
        if str(place) in closed:
            raise OSError(13, request.param, str(place))
        return listed(place)

    monkeypatch.setattr("os.scandir", scandir)
    return tmp_path / "v", closed, request.param


@pytest.mark.parametrize("place", ["train/c", "test", "train", "."])
def test_a_folder_that_cannot_be_listed_is_never_an_empty_one(place, unreadable, capsys):
    folder, closed, reason = unreadable
    closed.add(os.path.normpath(folder / place))
    listings = [
        lambda: find_own_videos(folder),
        lambda: find_videos(str(folder)),
        lambda: prepare_folder(folder, folder.parent / "out", None),
        lambda: [*files_below(folder)],
    ]
    if place != ".":  # the root itself is not listed for splits of fixed names
        listings.append(VideoFolder(root=str(folder)).check)
    for listing in listings:
        with pytest.raises(UserError) as error:
            listing()
        assert str(error.value).startswith(f"{os.path.normpath(folder / place)}: cannot be listed ({reason})")
    assert place == "." or main(["data", "check", "--dataset", "VideoFolder", str(folder)]) == 2
    said = capsys.readouterr().err
    assert (reason in said or place == ".") and "Traceback" not in said
    (folder.parent / "list.csv").write_text(f"path,label\n{os.path.normpath(folder / place)}/x,a\ny,b\n")
    with pytest.raises(UserError, match="cannot be listed"):
        find_own_videos(folder.parent / "list.csv")


def test_an_absent_folder_is_empty_and_links_in_a_circle_are_read_once(tmp_path):
    assert entries_of(tmp_path / "nowhere") == []
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.mp4").touch()
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    assert sorted(path.name for path in files_below(tmp_path)) == ["1.mp4", "self"]
