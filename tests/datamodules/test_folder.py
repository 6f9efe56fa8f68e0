"""Test folders of videos: every file is used or reported, and short videos are looped."""

import shutil
from unicodedata import normalize

import pytest
from PIL import Image

from lit_video.__main__ import main
from lit_video.datamodules import Dense, DenseStride, VideoCSV, VideoFolder
from lit_video.datamodules.inspection import data_digest
from lit_video.errors import UserError
from lit_video.own_videos.finding import find_own_videos
from lit_video.video.augmentation import EvaluationViews
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import frame_table
from lit_video.video.sampling import ReleasedDense, Sampling, WholeVideo
from tests.video.made import X264_CLOSED, write


@pytest.fixture
def root(tmp_path):
    """Folder with two classes of one video each in three splits."""
    for split in ("train", "val", "test"):
        for name in ("run", "walk"):
            (tmp_path / "root" / split / name).mkdir(parents=True)
            path = tmp_path / "root" / split / name / "1.mp4"
            write(path, x264=X264_CLOSED, num_frames=12, comment=f"{split} {name}")
    return tmp_path / "root"


def test_what_is_left_out_is_counted_and_named_once(root, capsys):
    before = data_digest(VideoFolder(str(root)))
    assert capsys.readouterr().err == ""
    (root / "train/run/notes.txt").write_text("text")
    (root / "train/run/frames").mkdir()
    Image.new("RGB", (20, 10)).save(root / "train/run/frames/1.png")
    shutil.copy(root / "train/run/1.mp4", root / "train/stray.mp4")
    data = VideoFolder(str(root))
    data.check()
    data.records("train")
    assert data_digest(data) == before
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert f"3 items left out of {root}/train: no videos of a class (run/frames, run/notes.txt, stray.mp4)" in line


OF_SYSTEMS = ["@eaDir", "$RECYCLE.BIN", "System Volume Information", "__MACOSX", "lost+found", "#recycle"]


@pytest.mark.parametrize("name", OF_SYSTEMS)
def test_folders_of_systems_are_no_classes_and_folders_no_videos(root, tmp_path, name, capsys):
    for split in ("train", "val"):
        (root / split / name).mkdir()
        (root / split / "run" / name).mkdir()
        shutil.copy(root / "train/run/1.mp4", root / split / name / "1.mp4")
    (root / "train/walk/x1.mp4").mkdir()
    (root / "val/walk/1.mp4").unlink()
    data = VideoFolder(str(root))
    assert data.class_names == ["run", "walk"]
    assert [len(data.records(split)) for split in ("train", "val")] == [2, 1]
    said = capsys.readouterr().err
    assert "1 of the classes without a video" in said and "walk" in said and name not in said
    own = find_own_videos(root)
    assert own.class_names == ["run", "walk"] and len(own.videos) == 5


def test_an_accent_is_one_class_however_it_is_spelled_and_case_twins_are_said(root, capsys):
    for split, form in (("train", "NFC"), ("val", "NFD"), ("test", "NFD")):
        folder = root / split / normalize(form, "café")
        folder.mkdir()
        write(folder / normalize(form, "é.mp4"), num_frames=3, comment=split)
        (root / split / "walk").rename(root / split / "Run")
    (root / "train" / normalize("NFD", "café")).mkdir()
    write(root / "train" / normalize("NFD", "café") / "2.mp4", num_frames=3, comment="2")
    data = VideoFolder(str(root))
    assert data.class_names == ["Run", "café", "run"]
    assert [len(data.records(split)) for split in ("train", "val", "test")] == [4, 3, 3]
    assert "Run and run" in capsys.readouterr().err
    own = find_own_videos(root)
    assert own.class_names == data.class_names
    rows = [
        f"train/{normalize('NFC', 'café')}/{normalize('NFC', 'é')}.mp4,{normalize('NFD', 'café')}",
        "train/run/1.mp4,run",
    ]
    (root / "train.csv").write_text("\n".join(["path,label", *rows]))
    rows = [f"val/{normalize('NFD', 'café')}/{normalize('NFC', 'é')}.mp4,{normalize('NFC', 'café')}"]
    (root / "val.csv").write_text("\n".join(["path,label", *rows]))
    table = VideoCSV(root=str(root))
    table.check()
    assert table.class_names == ["café", "run"]


def test_classes_and_videos_are_listed_by_name_and_what_is_wrong_is_said(tmp_path):
    def folder(name, files):
        for file in files.split():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).touch()
        return VideoFolder(root=str(tmp_path / name))

    data = folder(
        "good", "train/run/b.webm train/run/a.MP4 train/eat/c.mkv val/eat/d.avi test/run/e.mov test/run/f.m4v"
    )
    data.check()
    assert (data.class_names, data.num_classes) == (["eat", "run"], 2)
    assert [(r.path.name, r.label) for r in data.records("train")] == [("c.mkv", 0), ("a.MP4", 1), ("b.webm", 1)]
    assert [[(r.path.name, r.label) for r in data.records(split)] for split in ("val", "test")] == [
        [("d.avi", 0)],
        [("e.mov", 1), ("f.m4v", 1)],
    ]
    for number, (files, message) in enumerate(
        (
            ("train/readme.md", "holds 0 class folders"),
            ("train/run/a.mp4", "holds 1 class folder;"),
            ("train/run/a.txt train/eat/a.txt", "holds no video"),
            ("train/run/a.mp4 train/eat/a.mp4 val/sit/a.mp4", "val holds classes that .*train does not have: sit"),
        )
    ):
        with pytest.raises(UserError, match=message):
            folder(str(number), files).check()


def test_the_check_wants_no_test_folder_but_training_does(root, capsys):
    shutil.rmtree(root / "test")
    assert main(["data", "check", str(root), "--dataset", "VideoFolder"]) == 0
    cells = [line.replace("│", "").split() for line in capsys.readouterr().out.splitlines()]
    assert {line[0] for line in cells if line} & {"train", "val", "test"} == {"train", "val"}
    with pytest.raises(UserError, match=r"test holds no video"):
        VideoFolder(str(root)).check()


def test_a_sampling_that_a_checkpoint_cannot_keep_is_refused():
    class Middle(Sampling):
        def numbers(self, table, num_frames, clip=0, *, clips=None):
            return [table.count // 2] * num_frames

    with pytest.raises(ValueError, match="sampling: Middle is no dataclass"):
        VideoFolder("videos", sampling=Middle())


LOOPED: list[tuple[Sampling, int]] = [
    (Dense(2.0), 8),
    (DenseStride(4), 8),
    (DenseStride(4, fps=25.0), 8),
    (WholeVideo(2.0), 8),
    (ReleasedDense(4), 8),
]


@pytest.mark.parametrize("clips", [None, 3])
@pytest.mark.parametrize(("sampling", "frames"), LOOPED, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("kind", ["mp4", "avi", "variable"])
def test_a_short_video_starts_again(tmp_path, sampling, frames, clips, kind):
    path = tmp_path / ("short.avi" if kind == "avi" else "short.mp4")
    pts = [0, 1, 2, 5, 6, 7, 9, 10, 11, 13, 14, 15] if kind == "variable" else None
    write(
        path, **(dict(codec="mpeg4", options={"bf": "2", "g": "12"}) if kind == "avi" else {}), num_frames=12, pts=pts
    )
    record, count = VideoRecord(path, 0), frame_table(path).count
    long, repeated = (
        ClipDataset([record], sampling, frames, view=EvaluationViews(1, 16), seed=0, clips=clips, short=short).numbers(
            record, 0
        )
        for short in ("loop", "repeat")
    )
    assert all(0 <= i < count for i in long)
    assert repeated[-1] == count - 1 and repeated == sorted(repeated)
    assert long != sorted(long), "the video starts again"
    inside = repeated.index(count - 1)
    # ties are rounded towards the middle of the video, and a loop has another middle
    assert all(abs(a - b) <= 1 for a, b in zip(long[:inside], repeated[:inside], strict=True)), "the first round"


def test_a_loop_is_the_frames_modulo_their_number_as_in_mmaction2(tmp_path):
    path = tmp_path / "short.mp4"
    write(path, num_frames=12)
    record = VideoRecord(path, 0)
    dataset = ClipDataset([record], DenseStride(4), 8, view=EvaluationViews(1, 16), seed=0, clips=1, short="loop")
    assert dataset.numbers(record, 0) == [(2 + 4 * i) % 12 for i in range(8)]
    part = VideoRecord(path, 0, start=0.18, end=0.34)
    assert dataset.numbers(part, 0) == [5 + (2 + 4 * i) % 4 for i in range(8)]
