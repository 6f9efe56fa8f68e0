"""The command embed: features in the plane with their classes, and mistakes in a line each."""

import shutil

import torch

from lit_video.__main__ import main
from lit_video.inference import projection
from lit_video.inference.predict import Evaluation, load
from tests.commands.conftest import one_line
from tests.float32 import assert_close_in_float32


def embed(*args):
    return main(["embed", "--workers", "0", *map(str, args)])


def test_the_test_split_of_a_run(run, tmp_path):
    assert embed("--ckpt", run / "last.ckpt", "-o", tmp_path / "e.svg") == 0
    assert "t-SNE of the features of 8 videos" in (tmp_path / "e.svg").read_text()


def test_given_videos_have_their_folders_as_classes(run, videos, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(projection, "project", lambda x, seed: seen.append((x, seed)) or x[:, :2])
    args = ["--ckpt", run / "last.ckpt", "-o", tmp_path / "e.svg", "--seed", 3]
    for number, video in enumerate(videos[:6]):  # a link has the class of its own folder
        (tmp_path / f"class{number}").mkdir()
        (tmp_path / f"class{number}" / video.name).symlink_to(video)
    assert embed(*args, *sorted(tmp_path.glob("class*"))) == 0
    assert all(f">class{number}</text>" in (tmp_path / "e.svg").read_text() for number in range(6))
    assert seen[0][1] == 3
    model = load(run / "last.ckpt")
    again = model.predict(videos[:6], evaluation=Evaluation(workers=0)).features
    assert_close_in_float32(torch.from_numpy(seen[0][0]), again, model.model)


def test_broken_videos_are_listed_and_left_out(run, videos, tmp_path, capsys):
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    args = ["--ckpt", run / "last.ckpt", "-o", tmp_path / "e.svg"]
    assert embed(*args, text, *videos[:5]) == 1
    assert f"{text}: Invalid data" in capsys.readouterr().err
    assert "features of 5 videos" in (tmp_path / "e.svg").read_text()
    assert embed(*args, text, *videos[:4]) == 2
    assert "4 videos could be read, which is too few" in capsys.readouterr().err


# mistakes


def test_equal_features_are_one_line(run, videos, tmp_path, capsys):
    copies = [shutil.copy(videos[0], tmp_path / f"{i}.mp4") for i in range(6)]
    assert embed("--ckpt", run / "last.ckpt", *copies, "-o", tmp_path / "e.png") == 2
    assert "the features of all 6 videos are equal" in one_line(capsys)
