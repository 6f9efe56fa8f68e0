"""A manifest's columns hold what its lines of JSON held; another version's is refused."""

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from lit_video.__main__ import main
from lit_video.datamodules import VideoFolder
from lit_video.errors import UserError
from lit_video.video import manifest_file
from lit_video.video.clips import VideoRecord
from lit_video.video.manifest_file import Manifest, manifest_of, read_manifest
from lit_video.video.probe import VideoInfo
from lit_video.video.records import Records, relative
from lit_video.video.shards import ShardPlace
from lit_video.video.texts import Texts
from tests.video.bad_files import write

ODD = os.fsdecode(b"not utf-8 \xff.mp4")
ROWS = {
    row.path: row
    for row in (
        VideoInfo("b.mp4", 10, 1_600_000_000_123_456_789, "ok", "", 4, 0.16, 64, 48, 25.0, 0, 0, True, {"pts": [1, 2]}),
        VideoInfo("ä.mp4", 7, -5, "damaged", "frame 3 damaged", 9, 0.3, 1, 2, 29.97, 270, 3),
        VideoInfo("a/lost.mp4", status="missing", reason="no such file"),
        VideoInfo(ODD, 3, 4, "broken", "a text, no video"),
    )
}


def test_texts_are_those_of_a_list():
    words = sorted(["", "a", "äöü", ODD, "z" * 300], key=os.fsencode)
    texts = Texts.of(words)
    assert list(texts) == words == [texts[i] for i in range(len(words))]
    assert texts[-1] == words[-1]
    assert [texts.find(word) for word in words] == [*range(5)]
    assert texts.find("b") == texts.find("zz") == -1
    with pytest.raises(IndexError):
        texts[5]


@pytest.mark.parametrize("name", ["x.safetensors", "x.jsonl"])
def test_rows_come_back_as_they_were(tmp_path, name):
    manifest_of(ROWS).write(tmp_path / name)
    found = read_manifest(tmp_path / name)
    assert dict(found) == ROWS
    assert list(found) == sorted(ROWS, key=os.fsencode)
    assert found.facts() == {path: VideoInfo(**asdict(row) | {"table": None}) for path, row in ROWS.items()}
    assert [found.row(i).path for i in found.numbers_of("broken", "damaged")] == [ODD, "ä.mp4"]
    assert "c.mp4" not in found
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o666 & ~umask(), "others may read it"


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_no_rows_and_no_file_are_an_empty_manifest(tmp_path):
    Manifest.of(()).write(tmp_path / "x.safetensors")
    assert dict(read_manifest(tmp_path / "x.safetensors")) == dict(read_manifest(tmp_path / "absent")) == {}


@pytest.mark.parametrize("content", [b"", b"{}", b"\x02\0\0\0\0\0\0\0{}"])
def test_another_file_is_refused_by_name(tmp_path, content):
    file = tmp_path / "x.safetensors"
    file.write_bytes(content)
    with pytest.raises(UserError, match=r"x.safetensors: no manifest.* delete it, and run data check again"):
        read_manifest(file)


def test_a_manifest_of_lines_is_read_with_a_note(tmp_path, capsys):
    for split in ("train", "val", "test"):
        for name in "ab":
            (tmp_path / split / name).mkdir(parents=True)
            write(tmp_path / split / name / "1.mp4", frames=12)
    lines = tmp_path / "manifest.jsonl"
    assert main(["data", "check", str(tmp_path), "--dataset", "folder", "-o", str(lines)]) == 0
    settings = dict(frames=2, image_size=16, batch_size=1, num_workers=0, manifest=str(lines))
    VideoFolder(str(tmp_path), **settings).train_dataloader()
    assert "manifest.jsonl is of lines, which every process reads as a whole" in capsys.readouterr().err


def test_records_keep_labels_of_several_tasks_and_times():
    listed = [VideoRecord(Path("/a/b.mp4"), (1, 2), 0.1, None), VideoRecord(Path(f"/a/{ODD}"), (3, 4), None, 2.5, 12.5)]
    records = Records.of(listed)
    assert records == listed and list(records) == listed and records[:1] == listed[:1]
    assert Records.of(records) is records
    assert list(records.identities()) == [("/a/b.mp4", 0.1, None), (f"/a/{ODD}", None, 2.5)]
    assert records.rates() == [None, 12.5]
    with pytest.raises(IndexError):
        records[2]


def test_records_keep_their_places_in_shards():
    places = [
        ShardPlace("/a/000000.tar", 1, 2),
        ShardPlace("/a/000001.tar", 3, 2**40, "cut"),
        ShardPlace("/b.tar", 5, 6),
    ]
    listed = [VideoRecord(Path(f"/a/{i}"), i, place=place) for i, place in enumerate(places)]
    assert Records.of(listed) == listed
    with pytest.raises(ValueError, match="1 of 2 records are in shards"):
        Records.of([listed[0], VideoRecord(Path("/a/1"), 1)])


@pytest.mark.parametrize(
    ("path", "name"), [("/r/a/b.mp4", "a/b.mp4"), ("/r/../x.mp4", "../x.mp4"), ("/rr/a", "../rr/a"), ("/r", ".")]
)
def test_names_are_relative_to_the_root(path, name):
    assert relative(path, "/r") == relative(Path(path), Path("/r")) == name


@pytest.mark.parametrize("name", ["x.safetensors", "x.jsonl"])
def test_verdicts_of_another_version_are_refused(name, tmp_path, monkeypatch):
    file = tmp_path / name
    with monkeypatch.context() as before:
        before.setattr(manifest_file, "VERSION", manifest_file.VERSION - 1)
        manifest_of(ROWS).write(file)
        assert len(read_manifest(file)) == len(ROWS)
    with pytest.raises(UserError, match=f"{name}: no manifest, or another lit_video's, with other verdicts; delete it"):
        read_manifest(file)
