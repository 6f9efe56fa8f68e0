"""Test that paths with ``~`` and variables mean the same wherever a user writes them."""

from pathlib import Path

import pytest

from lit_video.__main__ import main
from lit_video.datamodules import TemporalSkills, VideoFolder
from lit_video.errors import UserError
from lit_video.utils.files import user_path
from lit_video.weights.hub import weights_path


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Home directory of the user, which is not the working directory."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PLACE", str(tmp_path / "place"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def test_home_and_variables_are_replaced(home, tmp_path):
    assert user_path("~/x") == home / "x"
    assert user_path("$PLACE/x") == user_path("${PLACE}/x") == tmp_path / "place/x"
    assert user_path("plain/x") == Path("plain/x")
    assert user_path(Path("~/x")) == home / "x"


def test_a_file_of_this_very_name_is_meant(home):
    Path("$PLACE").mkdir()
    assert user_path("$PLACE") == Path("$PLACE")


def test_a_variable_that_is_not_set_is_refused(home):
    with pytest.raises(UserError, match="NOWHERE"):
        user_path("$NOWHERE/x")


def test_settings_and_flags_follow_the_same_rule(home, tmp_path, capsys):
    assert VideoFolder(root="$HOME/dd").data_root() == home / "dd"
    assert TemporalSkills(root="$PLACE").root.parent == tmp_path / "place"
    assert weights_path("~/x.ckpt") == home / "x.ckpt"
    assert main(["table", "ablation_tw", "--runs=~/runs"]) == 2
    assert f"{home / 'runs'}: no such folder" in capsys.readouterr().err
    assert main(["pack", "~/runs", "--output=$PLACE/packs"]) == 2
    assert main(["predict", "--ckpt=~/run", "video.mp4"]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == []
