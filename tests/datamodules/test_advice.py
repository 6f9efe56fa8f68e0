"""Test that what a message on a data set tells to do can be done as it says, and goes on."""

import json
import re
import shutil
from types import SimpleNamespace

import pytest
from filelock import FileLock
from lightning import LightningModule
from lightning.pytorch.callbacks import ModelCheckpoint

from lit_video.datamodules import TemporalSkills, VideoCSV, VideoFolder, preparation
from lit_video.datamodules.checks import refuse_choice, refuse_copies, refuse_endless
from lit_video.datamodules.manifest import Manifest, scan
from lit_video.datamodules.preparation import Encoding, prepare_folder
from lit_video.errors import UserError
from lit_video.video.loading import Lesson
from tests.datamodules.conftest import copy_file
from tests.datamodules.test_released import DIVING, HOWTO, KINETICS, KINETICS_CSV, MOMENTS, SOMETHING

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


# release; a file of it, its content; what the message says of the file that is put there
RELEASED = {
    "another split": (KINETICS, "annotations/val.csv", KINETICS.files[KINETICS_CSV], "put the released file there"),
    "no dives": (DIVING, "Diving48_vocab.json", [], "is no list of dives; put the released file there"),
    "no video": (DIVING, "Diving48_V2_train.json", [], "lists no video; put the released file there"),
    "no numbers": (SOMETHING, "labels/labels.json", {"Doing": "a"}, "put the released file there"),
    "a part": (KINETICS, KINETICS_CSV, "label,youtube_id,time_start,time_end,split\na,b,1,2,train\n", "missing: skip"),
    "backslashes": (
        MOMENTS,
        "trainingSet.csv",
        MOMENTS.files["trainingSet.csv"].replace("g/k", r"g\k").replace("g/a", r"g\a"),
        "write / for the backslashes in the paths",
    ),
}


@pytest.mark.parametrize("case", RELEASED)
def test_a_released_file_is_put_in_place_as_told(case, tmp_path, video, small):
    release, file, content, advice = RELEASED[case]
    data = release.open(tmp_path, video, small)
    (tmp_path / file).write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(UserError, match=re.escape(advice)):
        data.check()
        _ = data.class_names
    data = release.open(tmp_path, video, small)
    data.check()
    assert data.class_names == release.names


@pytest.mark.parametrize("change", [{"classes": 2}, {"classes": 3, "least_videos": 3}], ids=["classes", "least_videos"])
def test_the_number_of_tasks_is_set_as_told(change, tmp_path, video, small):
    with pytest.raises(UserError, match=r"; set data\.classes to the number found, or change data\.least_videos"):
        HOWTO.open(tmp_path, video, small, classes=3).check()
    data = HOWTO.open(tmp_path, video, small, **change)
    data.check()
    assert data.num_classes == change["classes"]


@pytest.fixture
def folder(tmp_path, video, small):
    """Two classes in three splits; the same video in all."""
    for split in ("train", "val", "test"):
        for label in ("a", "b"):
            video(tmp_path / "videos" / split / label / "1.mp4")
    return tmp_path / "videos"


def test_copies_of_training_videos_are_deleted_as_told(folder, small):
    with pytest.raises(UserError, match="delete the copies in one of the splits"):
        refuse_copies(VideoFolder(str(folder), **small))
    for split in ("val", "test"):
        shutil.rmtree(folder / split)
    refuse_copies(VideoFolder(str(folder), **small))


def test_a_checkpoint_is_not_chosen_on_tested_videos_as_told(opened, video, tmp_path):
    callback = ModelCheckpoint(monitor="val/loss")
    data = opened(TRAIN, {})
    with pytest.raises(UserError, match="use other videos for the test, or leave out the callback"):
        refuse_choice(data, [callback])
    refuse_choice(data, [])
    video(tmp_path / "root/c.mp4")
    (tmp_path / "root/test.csv").write_text("path,label\nc.mp4,walk\n")
    refuse_choice(opened(TRAIN, {"test": "test.csv"}), [callback])


def test_a_lesson_leaves_steps_as_told():
    sampler = SimpleNamespace(steps=4)
    trainer = SimpleNamespace(max_steps=-1, max_epochs=2, fast_dev_run=False)
    with pytest.raises(UserError, match="take fewer, or train longer"):
        refuse_endless(Lesson(["a"], steps=8), sampler, trainer)
    refuse_endless(Lesson(["a"], steps=7), sampler, trainer)
    trainer.max_epochs = 3
    refuse_endless(Lesson(["a"], steps=8), sampler, trainer)


def test_a_lesson_that_is_refused_starts_no_reading_of_digests():
    lesson = Lesson(("drift left", "drift right"), steps=8)
    data = TemporalSkills(skills=("drift", "zoom"), pairs=(1, 1, 1), lesson=lesson, batch_size=2, num_workers=0)
    data.prepare_data()
    ends = {"max_steps": 4, "max_epochs": -1, "fast_dev_run": False}
    at = {"accumulate_grad_batches": 1, "world_size": 1, "global_rank": 0, "is_global_zero": True, "current_epoch": 0}
    data.trainer = SimpleNamespace(lightning_module=LightningModule(), **ends, **at)
    with pytest.raises(UserError, match="take fewer, or train longer"):
        data.train_dataloader()
    assert not data._trained_digests


def test_a_manifest_is_written_by_one_process_and_where_it_can_be_as_told(folder):
    videos = {"a": (folder / "train/a/1.mp4", None)}
    with FileLock(folder / ".list.lock"), pytest.raises(UserError, match="another process is writing it; wait or stop"):
        scan(videos, folder / "list")
    with pytest.raises(UserError, match=r"-o: cannot write .*; give another file"):
        scan(videos, folder / "train/a/1.mp4/list")
    scan(videos, folder / "list")
    assert Manifest(folder / "list").get("a").status == "ok"


def test_prepared_videos_get_a_folder_as_told(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(preparation, "reencode", copy_file)
    small, fast = Encoding(64), Encoding(64, gop=5)
    (tmp_path / "dst").mkdir()
    lock = FileLock(tmp_path / "dst/.prepare.lock")
    with lock, pytest.raises(UserError, match=r"another process is writing to .*/dst; wait or stop it"):
        prepare_folder(folder, tmp_path / "dst", small)
    assert prepare_folder(folder, tmp_path / "dst", small).videos == 6

    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"DST: cannot write .*; give another folder"):
        prepare_folder(folder, tmp_path / "file/dst", small)
    with pytest.raises(UserError, match=r"was made with .*; give another folder, or delete this one"):
        prepare_folder(folder, tmp_path / "dst", fast)
    assert prepare_folder(folder, tmp_path / "other", fast).videos == 6
    shutil.rmtree(tmp_path / "dst")
    assert prepare_folder(folder, tmp_path / "dst", fast).videos == 6


def test_other_videos_are_moved_away_from_drawn_ones_as_told(tmp_path, video):
    settings = dict(skills=("zoom",), num_frames=4, image_size=16, pairs=(1, 1, 1), num_workers=0, batch_size=2)
    data = TemporalSkills(str(tmp_path), **settings)
    other = video(data.root / "train/zoom growing/mine.mp4")
    with pytest.raises(UserError, match=r"1 video not drawn here lie in .*; move them away"):
        data.prepare_data()
    other.rename(tmp_path / "mine.mp4")
    data.prepare_data()
    assert len(data.records("train")) == 2
