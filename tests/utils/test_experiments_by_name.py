"""Test that experiments of the package are found by name, without a clone."""

import pytest

from lit_video.utils.yaml_files import EXPERIMENTS, find_config, find_experiments


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("given", ["scale/ssv2", "scale/ssv2.yaml", "experiments/scale/ssv2.yaml"])
def test_a_name_is_that_of_a_shipped_file(given):
    assert find_config(given) == EXPERIMENTS / "scale/ssv2.yaml"


def test_a_file_that_is_there_wins_and_a_folder_does_not(tmp_path):
    (tmp_path / "ablation_tw").mkdir()
    assert find_config("ablation_tw") == EXPERIMENTS / "ablation_tw.yaml"
    (tmp_path / "scale").mkdir()
    (tmp_path / "scale/ssv2.yaml").touch()
    assert str(find_config("scale/ssv2.yaml")) == "scale/ssv2.yaml"


def test_a_folder_of_ones_own_wins_over_the_shipped(tmp_path):
    assert find_experiments() == EXPERIMENTS
    (tmp_path / "experiments").mkdir()
    assert find_experiments() == EXPERIMENTS
    (tmp_path / "experiments/own.yaml").touch()
    assert str(find_experiments()) == "experiments"
