"""Test that a damaged file is deleted or renamed as its message tells, and that the command goes on."""

import re

import pytest

from lit_video.__main__ import main
from lit_video.datamodules.manifest import MANIFEST
from tests.fake_runs import write_two_rows
from tests.video.made import write

# file of a run; a command that reads it; what its message says to delete
DAMAGED = [
    ("run.json", ["table", "ablation_tw"], "delete it and repeat the command"),
    ("predictions.npz", ["table", "ablation_tw", "--pairs"], "delete run.json beside it and repeat the command"),
    ("curves.csv", ["report", "-o", "page.html"], "delete it; the run's results are in other files"),
    ("curves.csv", ["pack", "runs", "-o", "packs"], "delete it; the run's results are in other files"),
]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Folder of fake runs of a table, in the working directory."""
    monkeypatch.chdir(tmp_path)
    return write_two_rows(tmp_path)


@pytest.mark.parametrize(("name", "command", "advice"), DAMAGED)
def test_a_damaged_file_of_a_run_is_deleted_as_told(name, command, advice, runs, capsys):
    file = runs / "ablation_tw/embedded/tw1/seed0" / name
    file.write_bytes(b"\xff{" + file.read_bytes()[:40])
    assert main(command) == 2
    assert advice in capsys.readouterr().err
    file.with_name("run.json" if "run.json beside it" in advice else name).unlink()
    assert main(command) == 0


def test_a_pack_under_another_name_is_renamed_as_told(runs, capsys):
    assert main(["pack", "runs", "-o", "packs"]) == 0
    (runs.parent / "packs/ablation_tw.tar.xz").rename(runs.parent / "mine.tar.xz")
    assert main(["report", "mine.tar.xz", "-o", "page.html"]) == 2
    (ending,) = re.findall(r"it must be named TABLE(\S+)", capsys.readouterr().err)
    (runs.parent / "mine.tar.xz").rename(runs.parent / f"ablation_tw{ending}")
    assert main(["report", "ablation_tw.tar.xz", "-o", "page.html"]) == 0


def test_a_damaged_manifest_is_deleted_as_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for split in ("train", "val", "test"):
        for label in ("sit", "turn"):
            (tmp_path / "videos" / split / label).mkdir(parents=True)
            write(tmp_path / "videos" / split / label / f"{split}.mp4", "libx264", num_frames=4, height=32, width=32)
    command = ["data", "check", "videos", "--dataset", "VideoFolder"]
    (tmp_path / "videos" / MANIFEST).write_bytes(b"no manifest")
    assert main(command) == 2
    assert "delete it, and run data check again" in capsys.readouterr().err
    (tmp_path / "videos" / MANIFEST).unlink()
    assert main(command) in (0, 1)  # 1: it has looked, and found equal videos
