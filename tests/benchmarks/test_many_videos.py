"""The simulated large data set, small: it is made, checked and started, and its records take little."""

import os
import pickle

import pytest

from benchmarks.many_videos import FILES, make, start
from lit_video.__main__ import main
from lit_video.datamodules import VideoCSV, VideoFolder
from lit_video.datamodules.manifest import Manifest
from lit_video.datamodules.records import data_digest

VIDEOS = 2000


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    make(folder, VIDEOS, 20)
    return folder


@pytest.fixture(scope="module")
def manifest(many):
    assert main(["data", "check", str(many), "--dataset", "folder"]) == 0
    return many / "manifest.sqlite"


def test_a_check_has_a_row_of_every_video_and_goes_on_with_what_changed(many, manifest, capsys):
    rows = Manifest(manifest)
    assert len(rows) == VIDEOS
    assert {row.frames for row in rows.values()} == {24 + i for i in range(FILES)}
    for frames in (25, 26):  # another video each time
        path = many / "train/class_000/video_00000000.mp4"
        path.unlink()
        os.link(many / "sources" / f"{frames - 24}.mp4", path)
        capsys.readouterr()
        assert main(["data", "check", str(many), "--dataset", "folder"]) == 0
        assert f"data check: 1 of {VIDEOS:,} videos are new or changed" in capsys.readouterr().err
        assert Manifest(manifest)["train/class_000/video_00000000.mp4"].frames == frames


@pytest.mark.parametrize("kind", ["folder", "csv"])
def test_a_start_is_measured(many, manifest, kind):
    assert start(kind, str(many), str(manifest)).keys() == {"classes", "seconds", "mb"}


@pytest.mark.parametrize("kind", [VideoFolder, VideoCSV])
def test_records_take_a_fraction_of_a_list(many, kind):
    data = kind(root=str(many))
    records = data.records("train")
    assert len(records) == 0.9 * VIDEOS
    assert records == list(records) and records[-1] == records[len(records) - 1]
    assert records != list(records)[:-1]
    content = records._paths.nbytes + records.labels.nbytes
    assert content < 150 * len(records) < len(pickle.dumps([(str(r.path), r.label, r.fps) for r in records])) * 2
    assert data_digest(data) == data_digest(kind(root=str(many)))
