"""Test ``data check`` and ``data prepare``: what they report and write, and that they resume."""

import csv
import json
import os
import shutil
from dataclasses import asdict
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import av
import numpy as np
import pytest

from lit_video.__main__ import main
from lit_video.datamodules import VideoFolder
from lit_video.datamodules.inspection import data_digest
from lit_video.datamodules.manifest import Manifest, write_rows
from lit_video.datamodules.preparation import Encoding, prepare_folder
from lit_video.datamodules.probe import VideoInfo, packed_table, unpacked_table
from lit_video.utils.files import is_video
from lit_video.video.decoding import decode, forget_tables, frame_table
from tests.commands.conftest import one_line
from tests.video.bad_files import BAD_FILES, build
from tests.video.made import write

MANIFEST = "manifest.sqlite"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder with two intact videos in each of two classes and three splits."""
    root = tmp_path_factory.mktemp("made")
    for split in ("train", "val", "test"):
        for name in "ab":
            folder = root / split / name
            folder.mkdir(parents=True)
            write(folder / "1.mp4", num_frames=12, comment=f"{split} {name}")
            write(folder / "2.mkv", num_frames=24, height=32, comment=f"{split} {name}")
    return root


@pytest.fixture
def root(made, tmp_path):
    """Copy of the videos."""
    return shutil.copytree(made, tmp_path / "root")


def check(root, *flags):
    return main(["data", "check", str(root), "--dataset", "VideoFolder", *flags])


def rows(root):
    return {name: asdict(Manifest(root / MANIFEST).get(name)) for name in Manifest(root / MANIFEST).facts()}


def test_check_counts_and_writes_a_row_for_every_video(root, capsys):
    assert check(root) == 0
    out = capsys.readouterr().out
    for split in ("train", "val", "test"):
        (line,) = [line for line in out.splitlines() if line.startswith(f"│ {split}")]
        assert line.replace("│", "").split()[:5] == [split, "4", "0", "0", "0"]
    row = rows(root)["train/a/1.mp4"]
    assert (row["frames"], row["seconds"], row["fps"], row["status"]) == (12, 0.48, 25.0, "ok")
    assert row["size"] == (root / "train/a/1.mp4").stat().st_size
    assert len(rows(root)) == 12
    assert {p.name for p in root.iterdir()} == {"train", "val", "test", MANIFEST, f".{MANIFEST}.lock"}


def test_check_lists_what_is_broken_or_missing_and_ends_with_1(root, capsys):
    for split in ("train", "val"):
        (root / f"{split}.csv").write_text(f"{split}/a/1.mp4 a\nlost/1.mp4 b\n")
    assert main(["data", "check", str(root), "--dataset", "VideoCSV"]) == 1
    assert "missing (1):\n  lost/1.mp4" in capsys.readouterr().out
    build(root / "train" / "a")
    assert check(root, "--decode") == 1
    out = capsys.readouterr().out
    videos = {name for name, file in BAD_FILES.items() if not file.num_frames and is_video(Path(name))} - {"folder.mp4"}
    listed = {path: row["reason"] for path, row in rows(root).items() if row["status"] == "broken"}
    assert {Path(path).name for path in listed} == {name for name in videos if os.path.lexists(root / "train/a" / name)}
    assert f"broken ({len(listed)}):" in out
    assert "train/a/cut_with_index.mp4: the file ends early" in out


def test_a_second_check_reads_only_what_has_changed(root, capsys):
    assert check(root) == 0
    marked = rows(root)
    write_rows(root / MANIFEST, (VideoInfo(**row | {"reason": "from the first check"}) for row in marked.values()))
    write(root / "val/b/1.mp4", num_frames=30)
    capsys.readouterr()
    check(root)
    assert "data check: reads 1 of 12 videos (new, changed" in capsys.readouterr().err
    kept = {path for path, row in rows(root).items() if row["reason"]}
    assert kept == set(marked) - {"val/b/1.mp4"}
    assert rows(root)["val/b/1.mp4"]["frames"] == 30
    check(root, "--decode")
    assert not any(row["reason"] for row in rows(root).values()), "frames that were not decoded are checked again"


def test_the_digest_is_that_of_a_copy_and_of_the_listing_and_differs_for_other_labels(root, tmp_path, capsys):
    copy = shutil.copytree(root, tmp_path / "elsewhere" / "copy")
    digest = data_digest(VideoFolder(str(root)))
    assert check(copy) == 0
    assert f"data digest  {digest} " in capsys.readouterr().out
    (copy / "test/a/1.mp4").rename(copy / "test/b/3.mp4")
    assert data_digest(VideoFolder(str(copy))) != digest


@pytest.mark.parametrize("name", [name for name, file in BAD_FILES.items() if file.num_frames])
def test_a_packed_table_is_the_table(name, tmp_path):
    path = build(tmp_path, [name])[name]
    assert unpacked_table(json.loads(json.dumps(packed_table(frame_table(path))))) == frame_table(path)


@pytest.mark.parametrize("bytes_", [251, 255])
def test_a_name_that_is_too_long_to_write_leaves_the_other_videos(tmp_path, capsys, bytes_):
    (tmp_path / "src").mkdir()
    long = "x" * (bytes_ - 4) + ".mkv"
    write(tmp_path / "src" / long, num_frames=3)
    write(tmp_path / "src/short.mkv", num_frames=3)
    assert main(["data", "prepare", str(tmp_path / "src"), str(tmp_path / "dst")]) == 1
    out = capsys.readouterr().out
    assert "1 videos in" in out and f"{long}: its name is too long to write ({bytes_} bytes)" in out.replace("\n", "")
    assert [path.name for path in (tmp_path / "dst").glob("*.mp4")] == ["short.mp4"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_manifest_gives_the_same_clips_without_a_scan_as_long_as_the_file_is_the_same(root, workers, monkeypatch):
    check(root)
    shape = dict(num_frames=2, image_size=16, batch_size=2, num_workers=workers)
    plain, listed = (VideoFolder(str(root), **shape, manifest=m) for m in (None, str(root / MANIFEST)))
    for one, other in zip(plain.val_dataloader(), listed.val_dataloader(), strict=True):
        assert (one["clip"] == other["clip"]).all()
    stored = Manifest(root / MANIFEST, root)
    assert len(stored.facts()) == 12
    monkeypatch.setattr(
        import_module("lit_video.video.decoding.table_reading"),
        "scanned",
        lambda path, _: pytest.fail(f"{path} is scanned"),
    )
    forget_tables()
    for path in root.rglob("*.m[pk]*"):
        if path.parent.name in "ab":
            assert (
                frame_table(path)
                == stored(path)
                == unpacked_table(rows(root)[path.relative_to(root).as_posix()]["table"])
            )
    write(root / "val/b/1.mp4", num_frames=5)
    assert stored(root / "val/b/1.mp4") is None


@pytest.fixture
def src(tmp_path):
    for name in "ab":
        (tmp_path / "src" / name).mkdir(parents=True)
    write(tmp_path / "src/a/large.mp4", num_frames=30, height=120, width=202)
    write(tmp_path / "src/a/rotated.mp4", num_frames=5, height=120, width=200, rotation=90)
    write(tmp_path / "src/b/variable.mkv", pts=[0, 1, 2, 40, 41, 60, 61, 62, 63, 90])
    write(tmp_path / "src/b/odd.mp4", height=45, width=63, pixels="yuv444p", num_frames=4)
    return tmp_path / "src"


def prepare(src, dst, *flags):
    return main(["data", "prepare", str(src), str(dst), "--short-side", "64", *flags])


def table_of(path):
    with path.open() as file:
        return list(csv.reader(file))


def test_prepared_videos_are_small_upright_silent_and_have_the_same_frames_at_the_same_times(src, tmp_path):
    dst = tmp_path / "dst"
    assert not prepare_folder(src, dst, Encoding(64, gop=5, crf=4)).broken
    assert table_of(dst / "videos.csv") == [
        ["path", "label"], ["a/large.mp4", "a"], ["a/rotated.mp4", "a"], ["b/odd.mp4", "b"], ["b/variable.mp4", "b"]
    ]  # fmt: skip
    sizes = {"a/large": (64, 108), "a/rotated": (106, 64), "b/odd": (44, 64), "b/variable": (48, 64)}
    for name, size in sizes.items():
        (old,) = src.glob(f"{name}.*")
        new = dst / f"{name}.mp4"
        before, after = frame_table(old), frame_table(new)
        times = [[(t - table.pts[0]) * table.time_base for t in table.pts] for table in (before, after)]
        assert times[0] == times[1]
        pictures = decode(new, range(after.count))
        assert pictures.shape[1:3] == size
        with av.open(str(new)) as container:
            assert [stream.type for stream in container.streams] == ["video"]
            assert all(not frame.rotation for frame in container.decode(video=0))
            assert container.streams.video[0].codec_context.name == "h264"
        starts = [after.pts.index(key) for key in after.keyframes]
        assert max(np.diff([*starts, after.count])) <= 5
        small, large = corners(pictures[0].astype(int)), corners(decode(old, [0])[0])
        assert np.allclose(small, large, atol=25) and np.argmin(small) == np.argmin(large), "rotated like the source"
        if before.height == size[0]:  # not scaled: only the encoder changes pixels
            assert np.abs(pictures.astype(int) - decode(old, range(before.count))).mean() < 6


def corners(picture):
    """Return the mean of each corner; the first frame has a black square in one of them."""
    rows, columns = ((slice(n // 5), slice(-n // 5, None)) for n in picture.shape[:2])
    return [picture[r, c].mean() for r in rows for c in columns]


def test_what_is_done_is_left_alone_and_what_is_broken_is_listed(src, tmp_path, capsys):
    dst = tmp_path / "dst"
    (src / "b/text.mp4").write_text("no video")
    assert prepare(src, dst) == 1
    assert "b/text.mp4: Invalid data found when processing input" in capsys.readouterr().out
    assert len(table_of(dst / "videos.csv")) == 5
    (dst / "a/large.mp4").write_bytes(b"done")
    (src / "b/text.mp4").unlink()
    assert prepare(src, dst) == 0
    assert (dst / "a/large.mp4").read_bytes() == b"done"
    os.utime(src / "a/large.mp4")
    assert prepare(src, dst) == 0
    assert frame_table(dst / "a/large.mp4").count == 30, "a newer source is encoded again"
    assert not list(dst.rglob("*.part"))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["check", "/nowhere", "--dataset", "VideoFolder"], "/nowhere: no such folder"),
        (["check", "ROOT", "--dataset", "VideoFolder", "--data.nope=0"], "data.nope: no such setting"),
        (["prepare", "ROOT", "ROOT/x"], "lies inside it; give a folder outside"),
        (["prepare", "ROOT", "/proc/x"], "DST: cannot write /proc/x"),
        (["prepare", "EMPTY", "DST"], "holds no video"),
    ],
)
def test_mistakes_are_reported_in_one_line(root, tmp_path, capsys, args, message):
    (tmp_path / "empty").mkdir()
    places = {"ROOT": root, "DST": tmp_path / "dst", "EMPTY": tmp_path / "empty"}
    before = sorted(tmp_path.rglob("*"))
    args = [str(places.get(arg, arg)) if "ROOT/" not in arg else str(root / "x") for arg in args]
    assert main(["data", *args]) == 2
    assert message in one_line(capsys)
    assert sorted(tmp_path.rglob("*")) == before


def test_videos_that_would_become_one_and_other_settings_are_refused(src, tmp_path, capsys):
    assert prepare(src, tmp_path / "dst") == 0
    capsys.readouterr()
    assert prepare(src, tmp_path / "dst", "--preset", "fast") == 2
    assert '"fast_decode": false' in one_line(capsys)
    write(src / "a/large.mkv", num_frames=2)
    assert prepare(src, tmp_path / "dst") == 2
    assert "would both become" in one_line(capsys)


def test_a_rate_that_is_no_whole_number_stays_and_a_flat_folder_has_no_labels(tmp_path):
    (tmp_path / "src").mkdir()
    write(tmp_path / "src/ntsc.mp4", num_frames=20, fps=Fraction(30000, 1001))
    assert prepare(tmp_path / "src", tmp_path / "dst") == 0
    assert frame_table(tmp_path / "dst/ntsc.mp4").seconds == Fraction(20 * 1001, 30000)
    assert table_of(tmp_path / "dst/videos.csv") == [["path"], ["ntsc.mp4"]]
