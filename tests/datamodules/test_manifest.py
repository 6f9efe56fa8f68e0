"""Test that rows of a manifest and records of a split come back unchanged, and that other files are refused."""

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from lit_video.datamodules import manifest
from lit_video.datamodules.manifest import Manifest, write_rows
from lit_video.datamodules.probe import VideoInfo
from lit_video.datamodules.records import Records
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord

ODD = os.fsdecode(b"not utf-8 \xff.mp4")
ROWS = {
    row.path: row
    for row in (
        VideoInfo("b.mp4", 10, 1_600_000_000_123_456_789, "ok", "", 4, 0.16, 64, 48, 25.0, 0, True, '{"pts": [1, 2]}'),
        VideoInfo("ä.mp4", 7, -5, "damaged", "frame 3 damaged", 9, 0.3, 1, 2, 29.97, 3),
        VideoInfo("a/lost.mp4", status="missing", reason="no such file"),
        VideoInfo(ODD, 3, 4, "broken", "a text, no video"),
    )
}


def test_rows_come_back_as_they_were(tmp_path):
    write_rows(tmp_path / "x", [VideoInfo("b.mp4", reason="replaced"), *ROWS.values()])
    found = Manifest(tmp_path / "x")
    assert {path: found.get(path) for path in ROWS} == ROWS
    assert found.facts() == {path: VideoInfo(**asdict(row) | {"table": None}) for path, row in ROWS.items()}
    assert found.facts("WHERE status IN ('broken', 'damaged')").keys() == {ODD, "ä.mp4"}
    assert found.get("c.mp4") is None


@pytest.mark.parametrize("content", [b"", b"{}", b"SQLite format 3\0" + bytes(4080)])
def test_another_file_is_refused_by_name(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UserError, match=r"x: no manifest, or a damaged one \(.*\); delete it, and run data check"):
        Manifest(tmp_path / "x")


def test_verdicts_of_another_version_are_refused(tmp_path, monkeypatch):
    write_rows(tmp_path / "x", ROWS.values())
    monkeypatch.setattr(manifest, "MANIFEST_VERSION", manifest.MANIFEST_VERSION + 1)
    numbers = f"version {manifest.MANIFEST_VERSION - 1}, expected {manifest.MANIFEST_VERSION}"
    with pytest.raises(UserError, match=rf"damaged one \({numbers}\); delete it"):
        Manifest(tmp_path / "x")


def test_records_keep_labels_of_several_tasks_and_times():
    listed = [
        VideoRecord(Path("/a/b.mp4"), (1, 2), start=0.1),
        VideoRecord(Path(f"/a/{ODD}"), (3, 4), end=2.5, fps=12.5),
    ]
    records = Records.of(listed)
    assert records == listed and list(records) == listed
    assert Records.of(records) is records
    assert list(records.identities()) == [("/a/b.mp4", 0.1, None), (f"/a/{ODD}", None, 2.5)]
    with pytest.raises(IndexError):
        records[2]
