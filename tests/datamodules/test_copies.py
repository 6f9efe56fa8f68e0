"""Test that equal contents are found whatever the files' names, and refused where they decide a result."""

import os
import shutil

import pytest

from lit_video.__main__ import main
from lit_video.datamodules import VideoCSV, VideoFolder
from lit_video.datamodules.checks import refuse_copies
from lit_video.errors import UserError
from lit_video.own_videos.dividing import assign_splits, folds
from lit_video.own_videos.finding import OwnVideo
from lit_video.own_videos.groups import Groups, find_groups, refuse_equal_files, with_copies
from lit_video.video.trained_on import copies
from tests.video.made import write


def test_copies_are_found_by_content(tmp_path):
    contents = {"a": b"1" * 40_000, "b": b"1" * 40_000, "c": b"1" * 20_000 + b"2" + b"1" * 19_999, "d": b"1", "e": b""}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for folder, second in (("frames", b"2"), ("copied", b"2"), ("other", b"3")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.jpg").write_bytes(b"1")
        (tmp_path / folder / "2.jpg").write_bytes(second)
    os.link(tmp_path / "d", tmp_path / "linked")
    (tmp_path / "f").touch()
    paths = [str(path) for path in sorted(tmp_path.iterdir())] + [str(tmp_path / "missing")]
    found = {os.path.basename(path): os.path.basename(first) for path, first in copies(paths).items()}
    assert found == {"a": "a", "b": "a", "d": "d", "linked": "d", "copied": "copied", "frames": "copied"}


@pytest.fixture
def root(tmp_path):
    """Folder of two classes in three splits, without copies."""
    for number, place in enumerate(("train/a", "train/b", "val/a", "val/b", "test/a", "test/b")):
        (tmp_path / place).mkdir(parents=True)
        for i in range(2):
            write(tmp_path / place / f"{number}{i}.mp4", num_frames=3 + 2 * number + i)
    return tmp_path


def check(root):
    return main(["data", "check", str(root), "--dataset", "VideoFolder"])


def test_a_data_set_without_copies_is_not_refused(root, capsys):
    assert check(root) == 0
    assert "by content" not in capsys.readouterr().out
    refuse_copies(VideoFolder(str(root)))


def test_a_validation_of_copies_is_refused_and_counted(root, table, tiny, capsys):
    shutil.copy(root / "train/a/00.mp4", root / "val/a/other (1).mp4")
    shutil.copy(root / "train/b/11.mp4", root / "val/b/x.mp4")
    assert check(root) == 1
    assert "2 val videos equal training videos" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"2 val videos .*val/a/other \(1\)\.mp4 is .*train/a/00\.mp4"):
        refuse_copies(VideoFolder(str(root)))
    own = [f"--data.root={root}", *(flag for flag in tiny if "pairs" not in flag)]
    run = ["fit", "--config", str(table[0]), "--row=first", "--runs", str(root / "runs"), "--data=VideoFolder", *own]
    assert main(run) == 2
    assert "2 val videos equal training videos" in capsys.readouterr().err


def test_broken_downloads_that_are_equal_are_no_copies(root, capsys):
    for name in ("train/a/5.mp4", "val/b/5.mp4"):
        (root / name).write_text("404 not found")
    assert check(root) == 1
    assert "by content" not in capsys.readouterr().out
    refuse_copies(VideoFolder(str(root)))


def test_one_content_in_two_classes_is_said(root, capsys):
    shutil.copy(root / "train/a/00.mp4", root / "train/b/y.mp4")
    assert check(root) == 1
    assert "1 video of two classes" in capsys.readouterr().out
    refuse_copies(VideoFolder(str(root)))
    assert "one of the labels is wrong" in capsys.readouterr().err


def test_tables_are_compared_by_content_and_parts_of_one_video_are_no_copies(root):
    shutil.copy(root / "train/a/00.mp4", root / "again.mp4")
    rows = "path,label,start,end\ntrain/a/00.mp4,a,0,0.04\ntrain/b/10.mp4,b,,\n"
    (root / "train.csv").write_text(rows)
    (root / "val.csv").write_text("path,label,start,end\nagain.mp4,a,0.04,0.08\nval/b/30.mp4,b,,\n")
    refuse_copies(VideoCSV(root=str(root)))
    (root / "val.csv").write_text("path,label,start,end\nagain.mp4,a,0.02,0.08\nval/b/30.mp4,b,,\n")
    with pytest.raises(UserError, match="1 val video equal"):
        refuse_copies(VideoCSV(root=str(root)))


def own(paths, splits=None):
    return [OwnVideo(path, path[0], split) for path, split in zip(paths, splits or [None] * len(paths), strict=True)]


def test_copies_are_one_group_in_folds_and_splits():
    videos = own([f"{label}/clip{i}.mp4" for label in "ab" for i in range(12)])
    contents = [f"{video.label}{i % 12 // 2}" for i, video in enumerate(videos)]
    groups = with_copies(find_groups(videos), contents)
    assert "12 videos with the bytes of another stay with it" in groups.reason
    for divided in (folds(videos, groups.names)[0], assign_splits(videos, groups.names)[0]):
        assert len({*zip(contents, (video.split for video in divided), strict=True)}) == 12
    # groups that share a copy become one
    joined = with_copies(Groups(["x", "x", "y", "z"], ""), ["", "1", "1", ""]).names
    assert joined[0] == joined[1] == joined[2] != joined[3]
    assert with_copies(Groups(None, "why"), [""] * 4) == Groups(None, "why")
    # a copy is no draw of its own, whether groups are kept together, too large for that, or unknown
    same = ["1", "", "", "1"]
    assert len({*with_copies(Groups(None, "why"), same).draws}) == 3
    too_large = with_copies(Groups(None, "why", ["x", "x", "y", "y"]), same)
    assert len({*too_large.names}) == 3 and len({*too_large.draws}) == 1


def test_copies_in_two_classes_or_given_splits_are_refused():
    with pytest.raises(UserError, match=r"1 file in two classes, by content \(b/2.mp4 is a/1.mp4\)"):
        refuse_equal_files(own(["a/1.mp4", "b/2.mp4", "b/3.mp4"]), ["1", "1", ""])
    with pytest.raises(UserError, match="2 files in two splits"):
        refuse_equal_files(own(["a/1", "a/2", "a/3"], ["train", "test", "val"]), ["1", "1", "1"])
    refuse_equal_files(own(["a/1", "a/2", "b/3"], ["train", "train", "test"]), ["1", "1", ""])
