"""Test that every writer keeps names of files and classes that are not UTF-8, as in old archives."""

import csv
import os
import shutil

import numpy as np
import pytest
from matplotlib.figure import Figure

from lit_video import __main__
from lit_video.__main__ import main
from lit_video.modules import XViT
from lit_video.network.vit import ViTSize
from lit_video.own_videos.finding import find_own_videos
from lit_video.utils.figures import content_of, short
from lit_video.utils.files import write_table
from tests.checkpoints import untrained
from tests.video.made import write

NAME, FOLDER = os.fsdecode(b"fl\xfcgel.mp4"), os.fsdecode(b"geh\xe4t")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder with a checkpoint and a video whose name is not UTF-8."""
    made = tmp_path_factory.mktemp("names")
    untrained(
        XViT(2, 2, 16, size=ViTSize(16, 1, 2), patch_size=8),
        made / "last.ckpt",
        ["a", FOLDER],
        num_frames=2,
        image_size=16,
    )
    write(made / NAME, num_frames=12)
    return made


@pytest.fixture
def predict(made):
    return lambda *args: main(["predict", "--workers=0", "--ckpt", *map(str, (made / "last.ckpt", made / NAME, *args))])


def test_predictions_keep_the_name_in_a_csv(made, predict, tmp_path):
    out = tmp_path / "out.csv"
    assert predict("-o", out) == 0
    with out.open(encoding="utf-8", errors="surrogateescape") as file:
        rows = [*csv.DictReader(file)]
    (row,) = rows
    assert row["path"] == str(made / NAME)
    assert {row["class"], row["class_2"]} == {"a", FOLDER}
    assert b"fl\xfcgel.mp4" in out.read_bytes()


def test_pictures_and_features_are_written(made, predict, tmp_path):
    assert predict("--features", tmp_path / "features.npz") == 0
    with np.load(tmp_path / "features.npz") as features:
        assert features["paths"].tolist() == [str(made / NAME)]
    command = ["attention", str(made / NAME), "--ckpt", str(made / "last.ckpt"), "-o", str(tmp_path / "map.png")]
    assert main(command) == 0
    figure = Figure()
    figure.subplots().set(title=FOLDER, xticks=[0], xticklabels=[short(FOLDER)])
    assert "geh?t" in content_of(figure, "svg").decode()


@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", b"fl\xfcgel"), ("ascii", b"fl?gel")])
def test_a_terminal_of_any_encoding_gets_the_name(monkeypatch, tmp_path, encoding, shown):
    screen = (tmp_path / "screen").open("w", encoding=encoding)
    monkeypatch.setattr("sys.stdout", screen)
    replaced = {"main": lambda words: print(NAME), "set_up_process": lambda: None}
    for name, replacement in replaced.items():
        monkeypatch.setattr(__main__, name, replacement)
    with pytest.raises(SystemExit):
        __main__.run()
    screen.close()
    assert (tmp_path / "screen").read_bytes() == shown + b".mp4\n"


def test_own_videos_are_found_by_folders_and_by_the_list_of_them(made, tmp_path):
    for folder in ("a", FOLDER):
        (tmp_path / "videos" / folder).mkdir(parents=True)
        shutil.copy(made / NAME, tmp_path / "videos" / folder / NAME)
    found = find_own_videos(tmp_path / "videos")
    assert [video.path for video in found.videos] == [f"a/{NAME}", f"{FOLDER}/{NAME}"]
    rows = [("path", "label"), *((video.path, video.label) for video in found.videos)]
    write_table(tmp_path / "videos/list.csv", rows)
    again = find_own_videos(tmp_path / "videos/list.csv")
    assert [(video.path, video.label) for video in again.videos] == rows[1:]
